from ilfo.cli import main

main()
