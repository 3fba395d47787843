"""Models and Systems as environments of Gymnasium (Towers et al. 2024).

An environment is a System with actions on joints or inputs, observations, a reward and an end, all
expressions of its states, so that a step runs natively from one action to the next. The vector
environment has its lanes in the lanes of one native program; a lane moves as the same motion alone,
to the last bit until it begins anew, and to rounding of the time from then on. Its three modes of
beginning anew are Gymnasium's (`AutoresetMode`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError, suggestion
from linkwright.base.optional import extra
from linkwright.learning.shipped import asked, shipped
from linkwright.learning.stepping import Alone, Setting, SteppedLanes, reads_time, setting_of, whole
from linkwright.mechanism.model_like import ModelLike

gymnasium: Any = extra("gymnasium", "learning")
vector: Any = extra("gymnasium.vector", "learning")

Array = NDArray[np.float64]
Score = Callable[[Array, Array], float]
"""What a reward or an end in Python is given: observation and action."""


class Environment(gymnasium.Env):  # type: ignore[misc]
    """A model as an environment.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model; or an
            environment that ships ("cart-pole-swing-up", "reacher", "quadruped-walk"), whose table
            has all that is not given here.
        observe: names of coordinates, speeds or channels, or expressions; `q` and `u`, which stand
            for all coordinates and all speeds, are what is seen by default.
        act: joints or inputs; or a mapping to the limits of each: a number, or a lower and an upper
            one. A joint's limit is that of the file by default.
        reward: an expression, or a function of observation and action.
        done: an expression that is true where an episode ends, or a function as `reward`.
        every: steps of integration (base ticks, where something is sampled) from one action to the
            next; 1 by default.
        initial: states at the beginning: a number, or a lower and an upper one to draw from.
        parameters: in the same way, drawn anew for each episode.
        max_steps: after which an episode is truncated; None for no end.
        method: of integration, one with fixed steps for equal steps of learning; "semi-implicit"
            by default.
        step: of integration, s; by default the base tick, or the model's own.

    >>> env = Environment(
    ...     "pendulum",
    ...     observe=["sin(phi)", "cos(phi)", "phi_dot"],
    ...     act={"phi": 2.0},
    ...     reward="-phi**2 - 0.1*phi_dot**2",
    ...     step=0.01,
    ...     every=5,
    ...     initial={"phi": (-0.1, 0.1)},
    ... )
    >>> seen, info = env.reset(seed=1)
    >>> seen, reward, ended, truncated, info = env.step(np.array([0.5]))
    >>> seen.shape, ended, env.action_space
    ((3,), False, Box(-2.0, 2.0, (1,), float64))
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    @worded
    def __init__(
        self,
        model: ModelLike,
        *,
        observe: Sequence[str] | None = None,
        act: Sequence[str] | Mapping[str, float | tuple[float, float]] | None = None,
        reward: str | Score | None = None,
        done: str | Score | None = None,
        every: int | None = None,
        initial: Mapping[str, float | tuple[float, float]] | None = None,
        parameters: Mapping[str, float | tuple[float, float]] | None = None,
        max_steps: int | None = None,
        method: str | None = None,
        step: float | None = None,
    ) -> None:
        model, given = asked(
            model,
            {
                "observe": observe, "act": act, "reward": reward, "done": done, "every": every,
                "start": initial, "parameters": parameters, "max_steps": max_steps,
                "method": method, "step": step,
            },
        )  # fmt: skip
        reward, done = given["reward"], given["done"]
        texts = {"reward": _text(reward, "reward"), "done": _text(done, "done")}
        self._setting = _setting(model, {**given, **texts})
        self._lanes = SteppedLanes(self._setting, 1, 1)
        self._alone = Alone(self._lanes)
        self._reward = None if isinstance(reward, str) else reward
        self._done = None if done is None or isinstance(done, str) else done
        self._count, self._most = 0, _most(given["max_steps"])
        self._size = self._setting.observed
        self.action_space = _box(self._setting.lower, self._setting.upper)
        self.observation_space = _free(self._size)
        self.observed = self._setting.names

    @property
    def dt(self) -> float:
        """The time from one action to the next, s."""
        return self._setting.every * self._setting.phases.tick_seconds

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; return the first observation.

        Args:
            seed: of the start; None to go on drawing.
            options: `{"start": {...}}` for states that start elsewhere in this episode.
        """
        super().reset(seed=seed)
        self._lanes.begin(self.np_random, _options(options, "start").get("start"))
        self._count = 0
        self._alone.begin()
        infos = {"noise_seed": int(self._lanes.seeds[0])} if self._lanes.noisy else {}
        return self._alone.found[: self._size].copy(), infos

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold an action for one step.

        Args:
            action: a number for each of `act`.
        """
        alone, size = self._alone, self._size
        if not alone.step(action):
            if np.isnan(np.asarray(action, dtype=float)).any():
                raise InputError("an action is nan", remedy="give finite numbers")
            _refuse_stopped(self._lanes)
        found = alone.found
        seen = found[:size].copy()
        reward = float(found[size]) if self._reward is None else float(self._reward(seen, action))
        if not math.isfinite(reward):
            raise Error(
                f"the reward is {reward:g} at {self._lanes.time:g} s, with the observation {seen}",
                remedy="let reward be finite wherever done is not true, or shorten the step",
            )
        if self._done is not None:
            ended = bool(self._done(seen, action))
        else:
            ended = self._setting.done and found[-1] > 0.5
        self._count += 1
        return seen, reward, bool(ended), self._count >= self._most, {}


class VectorEnvironment(vector.VectorEnv):  # type: ignore[misc]
    """Many episodes of one model at once, in the lanes of a native program.

    Args:
        model: as for `Environment`, and so on to `step`.
        lanes: how many.
        observe: what each observes.
        act: what each acts on.
        reward: an expression.
        done: an expression.
        every: steps of integration from one action to the next.
        initial: of states, drawn for each episode.
        parameters: drawn for each episode and lane.
        max_steps: after which an episode is truncated.
        method: of integration.
        step: of integration, s.
        autoreset: "next step", "same step" or "disabled", as Gymnasium calls them.
        threads: as many as there are processors by default.

    >>> envs = VectorEnvironment(
    ...     "pendulum",
    ...     lanes=6,
    ...     act={"phi": 2.0},
    ...     reward="-phi**2",
    ...     done="abs(phi) > 3",
    ...     step=0.01,
    ...     initial={"phi": (-1.0, 1.0)},
    ... )
    >>> seen, infos = envs.reset(seed=1)
    >>> seen, reward, ended, truncated, infos = envs.step(np.zeros((6, 1)))
    >>> seen.shape, reward.shape, ended.any()
    ((6, 2), (6,), np.False_)
    """

    metadata: dict[str, Any]

    @worded
    def __init__(
        self,
        model: ModelLike,
        *,
        lanes: int,
        observe: Sequence[str] | None = None,
        act: Sequence[str] | Mapping[str, float | tuple[float, float]] | None = None,
        reward: str | None = None,
        done: str | None = None,
        every: int | None = None,
        initial: Mapping[str, float | tuple[float, float]] | None = None,
        parameters: Mapping[str, float | tuple[float, float]] | None = None,
        max_steps: int | None = None,
        method: str | None = None,
        step: float | None = None,
        autoreset: str = "next step",
        threads: int | None = None,
    ) -> None:
        for name, given in (("reward", reward), ("done", done)):
            if given is not None and not isinstance(given, str):
                raise InputError(
                    f"{name} of a vector environment is {given!r}",
                    remedy="give an expression, or make an Environment with a function",
                )
        model, more = asked(
            model,
            {
                "observe": observe, "act": act, "reward": reward, "done": done, "every": every,
                "start": initial, "parameters": parameters, "max_steps": max_steps,
                "method": method, "step": step,
            },
        )  # fmt: skip
        made = _setting(model, more)
        modes = {str(m.value).replace("_", " ").lower(): m for m in vector.AutoresetMode}
        modes = {name.removesuffix("step").strip() + " step" if "step" in name else name: m
                 for name, m in modes.items()}  # fmt: skip
        if autoreset not in modes:
            raise InputError(
                f"autoreset is {autoreset!r}", remedy=f"choose one of {', '.join(modes)}"
            )
        self._mode = modes[autoreset]
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        if self._mode is not vector.AutoresetMode.DISABLED:
            _refuse_clocks(made)
        self.num_envs = whole(lanes, "lanes")
        self._setting, self._most = made, _most(more["max_steps"])
        self._lanes = SteppedLanes(made, self.num_envs, threads)
        self._counts = np.zeros(self.num_envs, np.int64)
        self._over = np.zeros(self.num_envs, bool)
        self.single_action_space = _box(made.lower, made.upper)
        self.single_observation_space = _free(made.observed)
        batched = gymnasium.vector.utils.batch_space
        self.action_space = batched(self.single_action_space, self.num_envs)
        self.observation_space = batched(self.single_observation_space, self.num_envs)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in every lane, or in those of `options["reset_mask"]`.

        Args:
            seed: of all starts; None to go on drawing.
            options: `{"start": {...}}` for states that start elsewhere, or a mask of lanes.
        """
        super().reset(seed=seed)
        options = _options(options, "start", "reset_mask")
        mask, start = options.get("reset_mask"), options.get("start")
        if mask is None:
            self._lanes.begin(self.np_random, start)
            mask = slice(None)
        else:
            mask = np.asarray(mask)
            if mask.dtype != bool or mask.shape != (self.num_envs,):
                raise InputError(
                    f"reset_mask has the shape {mask.shape} and holds {mask.dtype}",
                    remedy=f"give {self.num_envs} times True or False",
                )
            _refuse_clocks(self._setting)
            self._lanes.begin_again(np.flatnonzero(mask), self.np_random, start)
        self._counts[mask], self._over[mask] = 0, False
        infos = {"noise_seed": self._lanes.seeds.copy()} if self._lanes.noisy else {}
        return self._lanes.first_outputs()[:, : self._setting.observed], infos

    def step(
        self, actions: Any
    ) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Hold the actions of all lanes for one step.

        Args:
            actions: a row for each lane.
        """
        lanes, setting = self._lanes, self._setting
        anew = np.zeros(self.num_envs, bool)
        if self._mode is vector.AutoresetMode.NEXT_STEP and self._over.any():
            anew = self._over.copy()
        lanes.act(actions)
        lanes.go_on()
        infos: dict[str, Any] = {}
        if anew.any():
            lanes.begin_again(np.flatnonzero(anew), self.np_random)
        found = lanes.first_outputs() if anew.any() else lanes.outputs()
        stopped = {i: why for i, why in lanes.stopped().items() if not anew[i]}
        found[list(stopped)] = 0.0  # what is not finite is nothing to learn from
        seen, reward = found[:, : setting.observed], found[:, setting.observed].copy()
        if not np.isfinite(reward).all():
            lane = int(np.flatnonzero(~np.isfinite(reward))[0])
            raise Error(
                f"the reward of lane {lane} is {reward[lane]:g} at {lanes.time:g} s",
                remedy="let reward be finite wherever done is not true, or shorten the step",
            )
        ended = found[:, -1] > 0.5 if setting.done else np.zeros(self.num_envs, bool)
        ended[list(stopped)] = True
        self._counts += 1
        truncated = self._counts >= self._most
        for part, value in ((reward, 0.0), (ended, False), (truncated, False), (self._counts, 0)):
            part[anew] = value
        if stopped:
            infos["stopped"] = np.array([stopped.get(i, "") for i in range(self.num_envs)], object)
        self._over = ended | truncated
        if self._mode is vector.AutoresetMode.SAME_STEP and self._over.any():
            over = np.flatnonzero(self._over)
            rows = np.full(self.num_envs, None, dtype=object)
            for lane in over.tolist():
                rows[lane] = seen[lane].copy()
            infos |= {"final_obs": rows, "_final_obs": self._over.copy()}
            lanes.begin_again(over, self.np_random)
            self._counts[over] = 0
            seen = lanes.first_outputs()[:, : setting.observed]
        return seen, reward, ended, truncated, infos


def _lanes(num_envs: int, **given: Any) -> VectorEnvironment:
    """Return many, as `gymnasium.make_vec` asks for them."""
    return VectorEnvironment(lanes=num_envs, **given)


def _setting(model: Any, given: Mapping[str, Any]) -> Setting:
    names = "observe", "act", "reward", "done", "every", "start", "parameters", "method", "step"
    return setting_of(model, *(given[name] for name in names))


def _options(given: Mapping[str, Any] | None, *known: str) -> Mapping[str, Any]:
    """Return the options of a reset, and reject what nothing would come of."""
    options = given or {}
    for name in options:
        if name not in known:
            raise InputError(f"reset has no option {name!r}", remedy=suggestion(name, known, None))
    return options


def _text(given: Any, what: str) -> str | None:
    if given is None or isinstance(given, str):
        return given
    if callable(given):
        return None
    raise InputError(f"{what} is {given!r}", remedy="give an expression or a function")


def _most(max_steps: int | None) -> float:
    return math.inf if max_steps is None else whole(max_steps, "max_steps")


def _box(lower: Array, upper: Array) -> Any:
    return gymnasium.spaces.Box(lower, upper, dtype=np.float64)


def _free(size: int) -> Any:
    return gymnasium.spaces.Box(-np.inf, np.inf, (size,), dtype=np.float64)


def _refuse_stopped(lanes: SteppedLanes) -> None:
    (why,) = lanes.stopped().values()
    raise Error(
        f"the run stopped at {lanes.time:g} s: {why}",
        remedy="shorten the step, bound the actions, or end the episode before that with done",
    )


def _refuse_clocks(setting: Setting) -> None:
    """Reject lanes that could not begin anew on their own."""
    late = [tick.name for tick in setting.phases.ticks if setting.every % tick.every]
    if late:
        raise InputError(
            f"a step of {setting.every} ticks is not a whole number of the intervals of "
            f"{late[0]!r}, so a lane could not begin anew as at time zero",
            remedy='let every be a multiple of all of them, or give autoreset="disabled"',
        )
    if reads_time(setting.phases):
        raise InputError(
            f"{setting.system.name!r} depends on the time, which all lanes share",
            remedy='keep the time in a state, or give autoreset="disabled"',
        )


for _name in shipped():
    gymnasium.register(
        f"linkwright/{_name}-v0",
        entry_point="linkwright.learning.environments:Environment",
        vector_entry_point="linkwright.learning.environments:_lanes",
        kwargs={"model": _name},
    )
