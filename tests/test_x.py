import time
def test_a(trained): print(trained.logs[-1], trained.agent.seconds, trained.agent.state.chosen.iteration)
def test_p(pendulum): print(pendulum.seconds, pendulum.state.chosen.mmd)
def test_r(finished_run): print(open(finished_run/"summary.json").read(), open(finished_run/"metrics.csv").read())
