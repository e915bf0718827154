"""What tests of live sessions share: a screen without pages, and a session that the test plays step by step."""

import numpy as np

import treesim
from tests.waiting import PATIENCE
from treesim.viewing.live import LiveSession
from treesim.viewing.live.physics import Scene
from treesim.viewing.live.settings import Settings

ROBOT = treesim.load("ur5")
STILL = Settings(gravity=(0.0, 0.0, 0.0))


class Screen:
    """A viewer that remembers, and whose user says in advance what is to be done, one thing each time it is told."""

    def __init__(self):
        self.url, self.port = None, 0
        self.shown, self.panels, self.states, self.grounds, self.replies = [], [], [], [], []

    def show(self, robot, q):
        self.shown = [(robot, q.copy())]

    def show_ground(self, ground):
        self.grounds.append(ground)

    def update(self, q):
        self.shown.append(q.copy())

    def close(self):
        pass

    def listen(self, receive):
        self.receive = receive

    def show_panel(self, panel):
        self.panels.append(panel)

    def show_state(self, state):
        self.states.append(state)


class ReferenceScreen(Screen):
    """A screen that shows two robots."""

    def __init__(self):
        super().__init__()
        self.references = []

    def set_reference(self, q):
        self.references.append(None if q is None else q.copy())


class Driven:
    """A session that is played in steps of the test, with a clock of its own, and no other thread."""

    def __init__(self, world=ROBOT, q=None, settings=STILL, screen=None, policy=None, command=(), **options):
        world = treesim.World(world) if isinstance(world, treesim.Tree) else world
        robot = world.robot
        self.now, self.screen = 0.0, screen or Screen()
        start = robot.neutral() if q is None else q, np.zeros(robot.nv), "fixed"
        scene = Scene(world, *start, policy=policy, command=command)
        self.session = LiveSession(scene, self.screen, settings, clock=lambda: self.now, **options)
        self.session._sleep = self.sleep
        self.session.physics.player._sleep = self.sleep
        self.physics, self.player = self.session.physics, self.session.physics.player

    def sleep(self, seconds):
        self.player.wait(0)
        self.now += seconds
        if self.now >= self.end:
            raise TimeoutError

    def play(self, seconds):
        """Let real time pass."""
        self.end = self.now + seconds
        while self.now < self.end:
            try:
                self.player.run()
            except TimeoutError:
                return
            except treesim.errors.TreesimError as error:
                self.session._stop(error)

    def ask(self, **message):
        """Do what a page asks for, and return what that page is told."""
        replies = []
        self.screen.receive(message, replies.append)
        self.player.wait(0)
        self.settle()
        return replies

    def settle(self):
        """Wait until nothing is compiled or loaded any more."""
        while (thread := self.session._preparing) is not None:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "what is prepared never ends"
            self.session._preparing = None
        self.player.wait(0)

    def set(self, **values):
        return self.ask(set=values)

    @property
    def state(self):
        return self.screen.states[-1]
