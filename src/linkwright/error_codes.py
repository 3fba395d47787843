"""The numbers of errors: one table that makes the page *Errors* and ``linkwright explain``.

A number is never used for something else. To add one, take the next free number of its part, and
give it where the error is raised: ``raise MotionError(..., code="R201")``.

Running the module prints the page; a test holds `docs/errors.md` to it.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwright.errors import InputError, nearest

_HEAD = """\
# Errors

An error with a number ends in it: `there is no error 'R999'; ... [R101]`. `linkwright explain R101`
prints what stands here, and `linkwright explain` the list. In Python the number is `error.code`.
A number is never used for something else.

This page is made from the table (`python -m linkwright.error_codes`).
"""


class Explanation(NamedTuple):
    """What a number means: a short title, why it happens, and what to do."""

    title: str
    why: str
    remedy: str


PARTS = {
    "1": "Definition and dialogue",
    "2": "Tasks and requirements",
    "3": "Sizing and catalogs",
    "4": "Drives",
    "5": "Filters",
    "6": "Frequency response, limit cycles and identification",
    "7": "Worst case and timing",
    "8": "Listings, plots and reports",
}
"""The first digit of a number says which part of Linkwright it comes from."""

DEFINITION = {
    "R101": Explanation(
        "Unknown error number",
        "No error has the number that was asked for.",
        "Run `linkwright explain` without a number for the list.",
    ),
    "R102": Explanation(
        "Frame of a joint that cannot be turned",
        "`turn` places the frame of a weld, a hinge, a swivel, a slide, or of rotations about "
        "the joint's own x, y or z. Quaternions, universal joints, inclined or reversed axes, and "
        "joints with `body_axis`, `first_axis`, `reference` or `matrix` cannot have it besides.",
        "Weld a body without mass to the parent, give that body the turn, and hang the joint on "
        "it.",
    ),
    "R103": Explanation(
        "Two ways to say the same",
        "A frame or body is placed by two keys that exclude each other, such as `matrix` and "
        "`turn`.",
        "Leave out one of them.",
    ),
    "R104": Explanation(
        "Text that cannot be edited in place",
        "A model is edited without touching what is not changed. A table that is written inline, "
        "or by dotted keys, cannot be edited that way.",
        "Write its tables as `[table]` and `[[table]]`, with one key to a line.",
    ),
    "R105": Explanation(
        "Not one of the choices",
        "The answer is not a word of the menu, the beginning of one, or its number.",
        "Type one of the words, or its number; `?` explains them.",
    ),
    "R106": Explanation(
        "Answer of another kind",
        "The answer is not what the question asks for: a number, three components, turns, moments "
        "of inertia, a file.",
        "Type `?` for what is asked. Components stand between commas: `10 in, 0, 0`.",
    ),
    "R107": Explanation(
        "Unit of another kind",
        "The unit of the answer does not measure what is asked, such as a mass for a length.",
        "Give it in the unit of the question, or in one of the same kind.",
    ),
    "R108": Explanation(
        "Angle without a unit",
        "An angle, or a rate of one, is a plain number: it could be in degrees or in radians.",
        "Write `30 deg` or `0.5 rad`, `90 deg/s` or `2 rad/s`.",
    ),
    "R109": Explanation(
        "Name that cannot be used",
        "The name is taken, or has characters that names do not have.",
        "Begin with a letter; letters, digits and `_` may follow. Choose a name that is free.",
    ),
    "R110": Explanation(
        "Number out of range",
        "The number is below what it can be: a negative mass or moment, a length of zero, a lower "
        "limit above the upper one.",
        "Give a number in the range.",
    ),
    "R111": Explanation(
        "Component that no model can have",
        "Each answer is in order, but no model can be built with them together: a moment of "
        "inertia that no body has, or something else that uses what was deleted.",
        "Give other values; `no` to *keep it* asks again.",
    ),
    "R112": Explanation(
        "File that cannot be used",
        "The file is missing, is there already, was changed meanwhile, or is no text model.",
        "Give another file, or modify it again from what it holds now.",
    ),
    "R113": Explanation(
        "Transcript that does not fit",
        "An answer of the transcript is refused, or the transcript ends before the dialogue does. "
        "Nothing was written since the last save.",
        "Correct the line that is named. The last answer should be `quit`.",
    ),
    "R114": Explanation(
        "Nothing to go back to",
        "There is no question before this one, or what came before is saved already.",
        "Answer the question, or type `?`.",
    ),
    "R115": Explanation(
        "Nothing of that kind",
        "The model has no part of the kind that is to be changed.",
        "Add one first.",
    ),
    "R116": Explanation(
        "Function that could not be carried out",
        "A function of the dialogue met an error. The message says which.",
        "Correct what it names, then go on at the top menu.",
    ),
    "R117": Explanation(
        "Input that ended early",
        "The input ended (Ctrl-D, or the end of a pipe) while something was not saved. The file "
        "is as it was, and the answers are in a draft.",
        "Run the same command to resume the draft.",
    ),
    "R118": Explanation(
        "File that is not beside the model",
        "A model names its scene and its task by files in its own folder, or in one below it, so "
        "that a model from elsewhere reads nothing else.",
        "Put the file beside the model, and give its name.",
    ),
}

TASKS = {
    "R201": Explanation(
        "Parts of a task do not follow each other",
        "A part starts before the one before it ends, leaves a gap, or has no end.",
        "Give each part a start or a duration, and the last one an end; put a Dwell into gaps.",
    ),
    "R202": Explanation(
        "A part of a task that is not well formed",
        "A part has an unknown control, profile, law or axes, or its coefficients are no numbers.",
        "Choose one of the words that the message lists.",
    ),
    "R203": Explanation(
        "Unknown joint or channel",
        "A task names a joint that the robot does not have, or a channel that the tool has not.",
        "Use the names of `Robot.coordinates`, or x, y, z, rx, ry, rz of a tool.",
    ),
    "R205": Explanation(
        "A tool rate that the robot cannot follow",
        "The tool is out of reach, in a singular pose, or the arm has too few joints for it.",
        "Start elsewhere, free channels of the tool, or give a damping.",
    ),
    "R206": Explanation(
        "A limit of a joint",
        "A task leaves the limits of a joint, or a limit that was given is none.",
        "Make the task slower or lighter, or give limits above zero.",
    ),
    "R207": Explanation(
        "A position jumps",
        "A part gives positions, and does not begin where the part before it ended.",
        "Begin at that position, or give the task a start.",
    ),
    "R208": Explanation(
        "Wrong unit",
        "A text has a unit that does not fit, such as kg for a length.",
        "Give a number in SI units and rad, or a text with a unit that fits.",
    ),
    "R209": Explanation(
        "A payload that no body is",
        "A mass is negative or not finite, or an inertia breaks the triangle inequality.",
        "Give a mass of zero or more, and the inertia about the center of mass.",
    ),
    "R210": Explanation(
        "Force goes around the joints",
        "A closed loop, or a spring between distant links, carries force beside the joints.",
        "Ask `lw.reactions`, which solves for the forces of constraints.",
    ),
    "R211": Explanation(
        "A load without a frame",
        "Inverse dynamics was asked with a wrench or a payload that no frame carries.",
        'Name the frame, as in `frame="tool"`.',
    ),
    "R212": Explanation(
        "A task file that cannot be read",
        "The file is not TOML, has a key that is not known, or lacks one that is needed.",
        "See *Requirements* for the keys of a task.",
    ),
    "R213": Explanation(
        "A step that is not above zero",
        "The time between samples is zero, negative or not finite.",
        "Give a step in s, such as 0.001.",
    ),
    "R214": Explanation(
        "A robot that cannot do tasks",
        "Tasks move joints of one degree of freedom; a free base or a ball joint has more.",
        'Load it with `base="fixed"`, and lock ball joints.',
    ),
    "R215": Explanation(
        "A requirement does not hold this",
        "Torques were asked of a requirement without dynamics, or an unknown statistic.",
        "Compute it with dynamics, or ask for one of the quantities that the message lists.",
    ),
    "R216": Explanation(
        "The robot has no such tool",
        "A task names a frame for its payload, wrench or tool control that the robot has not.",
        "Set `frame` of the task to one of `Robot.frames`.",
    ),
    "R217": Explanation(
        "Many runs that do not fit together",
        "Payloads and starts are not one for each run, or loads of the task change over time.",
        "Give as many starts as payloads, or one; ask `require` where loads change.",
    ),
    "R218": Explanation(
        "No parameters to differentiate by",
        "The robot has numbers in place of parameters, or its motion itself depends on them.",
        "Load it with `symbolic=True`, and ask for a task under joint control.",
    ),
    "R219": Explanation(
        "A load after the end",
        "A payload, a wrench or an acceleration of the base begins when the task is over.",
        "Let it begin before the end of the task.",
    ),
}

SIZING = {
    "R301": Explanation(
        "Load of a joint does not fit together",
        "Times do not rise, arrays differ in length, a value is not finite, or the kind of joint "
        "is neither revolute nor prismatic.",
        "Give one finite value for each time, in the order of time.",
    ),
    "R302": Explanation(
        "Catalog cannot be read",
        "The file is no TOML, has a key that is not known, lacks one, or gives a quantity "
        "without a unit or in one that does not fit.",
        "Mend the place that is named; `linkwright schema --catalog` prints all keys.",
    ),
    "R303": Explanation(
        "Catalog entry is impossible",
        "Physics forbids it: torque and voltage constant differ in SI, the continuous torque "
        "overheats the winding, an efficiency is above 1, or a peak is below what is continuous.",
        "Correct the numbers; look whether they are of the same phase or line, and in one unit.",
    ),
    "R304": Explanation(
        "No drive of the catalog fits",
        "For one joint every pair of motor and gear fails at something; the message says at what "
        "the nearest one fails, and by how much.",
        "Add a stronger entry to the catalog, or ask for less speed, payload or life.",
    ),
    "R305": Explanation(
        "Unknown joint or part",
        "A joint, motor, gear, supply, frame or order was named that is not there, or none was.",
        "Use one of the names that the message lists.",
    ),
    "R306": Explanation(
        "Cycles are not those of the robot",
        "Sizing with a robot needs the cycle of every joint, in the robot's order, and joints "
        "with one coordinate on a fixed base.",
        "Take the cycles from the requirement of that robot.",
    ),
    "R307": Explanation(
        "No robot to drive",
        "Drives were sized from cycles alone, so there is nothing that they could move.",
        "Size a requirement, or give the robot with `robot=`.",
    ),
    "R308": Explanation(
        "Error budget does not fit together",
        "A source has no finite size, its sensitivities are not one for each output, or poses and "
        "instants are not those of the task.",
        "Give a size of 0 or more, one sensitivity for each output, and poses in rows.",
    ),
    "R309": Explanation(
        "No such duty type",
        "IEC 60034-1 has the types S1 to S10, each with its own times and loads; S9 has no rule.",
        "Give the times that the type has, each above 0.",
    ),
    "R310": Explanation(
        "Loads that the System of sized drives has not",
        "`Sizing.system` carries one payload all the time. The task picks one up or puts it down, "
        "or has a wrench at the tool or a base that accelerates; sizing counts them, the System "
        "would not.",
        "Make the system from a task with a constant payload, given to `require`.",
    ),
    "R311": Explanation(
        "Demand out of range",
        "A life, an inertia ratio, a bandwidth or a wind-up is not above 0, or it is hotter around "
        "the drives than any winding stands.",
        "Give the life in hours, the temperature in °C, and numbers above 0.",
    ),
}

DRIVES = {
    "R401": Explanation(
        "A number of a drive makes no sense",
        "A part of a drive has a number that is not finite, or outside of its bounds: a resistance "
        "of zero, a negative inertia, a negative deviation.",
        "Give a number within the bounds that the message names; all are in SI.",
    ),
    "R402": Explanation(
        "A part of a chain is not linear",
        "A chain with a rate goes from instant to instant by matrices, which a gap, dry friction, "
        "a limit or a pendulum does not have.",
        "Make the chain without a rate, so that it is integrated, and sample it with a Servo.",
    ),
    "R403": Explanation(
        "Noise of something unknown",
        "A deviation, density or quantum has a name that is no state, or no sensor, of the chain.",
        "Use a name of `chain.matrices(step).states` or `.sensors`.",
    ),
    "R404": Explanation(
        "Unknown update of a chain",
        "A chain with a rate is updated in one of three ways.",
        "Use exact, simultaneous or sequential.",
    ),
    "R405": Explanation(
        "A controller lacks a sensor",
        "The law of the controller needs a signal that no sensor of the chain measures.",
        "Add the name of the signal to `sensors`.",
    ),
    "R406": Explanation(
        "Unknown signal",
        "A sensor is to measure a signal that this chain does not have.",
        "Use one of the signals that the message lists.",
    ),
    "R407": Explanation(
        "Noise without a rate",
        "Noise is new at each instant, but the chain is continuous and has no instants.",
        "Give the chain a rate in hertz.",
    ),
    "R408": Explanation(
        "A chain without a period",
        "Matrices belong to a step, and the chain has no rate in hertz that says how long it is.",
        "Give the step in s, or make the chain with a rate.",
    ),
    "R409": Explanation(
        "A chain at another rate than it was made for",
        "The matrices of a chain belong to its period; at another rate they would be wrong.",
        "Give the rate where the chain is made, and add it without one.",
    ),
    "R410": Explanation(
        "An edit of something unknown",
        "A chain was to be changed at a name that is no field of its parts and no argument of it.",
        "Use a name such as motor.R; the message names the nearest, or all.",
    ),
    "R411": Explanation(
        "No such drive",
        "The System has no drive at all, or none of the name that was given.",
        "Give a model with a Chain or a Drive, and the name of one of its drives.",
    ),
    "R412": Explanation(
        "Numbers that belong together",
        "A part of a drive has some numbers of a group, such as the slopes of a stiffness, but not "
        "all of them.",
        "Give all numbers of the group, or none.",
    ),
    "R413": Explanation(
        "A rigid train in an update part by part",
        "A rigid train makes one body of rotor and load. Part by part, each would need the "
        "acceleration of the other: an algebraic loop.",
        "Use the exact update, integrate the chain, or make the train elastic.",
    ),
    "R414": Explanation(
        "A chain without a controller has no matrices",
        "With a rate, the command is a state of the chain, which the controller makes.",
        "Give a controller, or make the chain without a rate and linearize its System.",
    ),
    "R415": Explanation(
        "A servo without a rate",
        "A servo runs at instants, and neither it nor its controller says how often.",
        "Give its rate in hertz.",
    ),
    "R416": Explanation(
        "Rates of a cascade that do not divide",
        "The loops of a cascade run in one program, the slower ones at some of its instants.",
        "Give rates of which the fastest is a whole multiple.",
    ),
    "R417": Explanation(
        "A cascade that is not tuned",
        "Gains were left open, and nothing says which motor and train they are for.",
        "Give the gains, or the motor and the train of the servo.",
    ),
    "R418": Explanation(
        "A bridge with another number of legs",
        "A bridge that is modeled switch by switch has one leg or two.",
        "Give legs = 1 or legs = 2.",
    ),
    "R419": Explanation(
        "Coupled drives that do not fit",
        "The matrix of ratios is not square, leaves a joint that no motor turns, or there are more "
        "or fewer motors, amplifiers or numbers than joints.",
        "Give one of each for each joint, and independent rows of ratios.",
    ),
    "R420": Explanation(
        "Steps too long for a chain",
        "In short steps the chain is stable; in steps of its rate it is not. Updates part by part "
        "take damping away, and a command that comes a long step late does so too.",
        "Take a higher rate, a lower gain, or the exact update where the chain has another.",
    ),
    "R421": Explanation(
        "Ports that do not match",
        "A sensor was to stand between a drive and its servo at a signal that the drive does not "
        "have or the servo does not take.",
        "Use the name of a signal that both have; the message lists them.",
    ),
    "R422": Explanation(
        "A part of a drive in the place of another",
        "A drive is made of a controller, an amplifier, a motor, a train and a load, in this "
        "order; one of them is missing, or stands where another is expected.",
        "Give the parts in their order, or by name, such as motor=DC(...).",
    ),
    "R423": Explanation(
        "A catalog in the place of a model",
        "A catalog with drives, as `linkwright size -o` writes it, names motors and gears, but not "
        "what they turn or how they are controlled.",
        "Write the System of the sizing with `lw.write_model(found.system())`, and give that file.",
    ),
}

FILTERS: dict[str, Explanation] = {
    "R501": Explanation(
        "Matrix of a filter does not fit",
        "A matrix, an initial value or a variance has the wrong shape, is no finite number, or is "
        "given for something that there is not.",
        "Give as many rows and columns as there are states, inputs and sensors, in finite numbers.",
    ),
    "R502": Explanation(
        "Not a covariance",
        "A covariance is symmetric and has no negative eigenvalue; a variance is 0 or more.",
        "Give variances, the squares of deviations, or a symmetric matrix made of them.",
    ),
    "R503": Explanation(
        "Sensor without noise, or singular covariance",
        "The information form and the steady gain divide by the noise of sensors.",
        "Give each sensor a deviation above 0, or take the filter that varies in time, with "
        "Joseph's form: it takes a sensor without noise as exact.",
    ),
    "R504": Explanation(
        "Filter that never settles",
        "No sensor tells some states apart, and nothing lets an error in them die out.",
        "Add a sensor that depends on the states that are named, or leave them out of the model.",
    ),
    "R505": Explanation(
        "Unknown form or kind of filter",
        "A filter has a form of its correction, and a kind.",
        "Choose one of those that the message lists.",
    ),
    "R506": Explanation(
        "Too few samples for a statistic",
        "Whether errors are consistent with their covariance shows over several runs; whether they "
        "are white, over more samples than lags.",
        "Give more runs or samples.",
    ),
    "R507": Explanation(
        "Instants of a sensor",
        "A sensor has a new value every so many instants of its filter, and may be late by some.",
        "Give whole numbers; take a filter other than the steady one for sensors that are slower.",
    ),
    "R508": Explanation(
        "System that a filter cannot follow",
        "A filter goes from one of its instants to the next with the System's own formulas. Python "
        "functions have no derivative, some memory follows steps of the integration, and members "
        "may run at instants that do not fit those of the filter.",
        "Do what the message says: a Block in place of a function, or a rate that fits.",
    ),
}

FREQUENCY = {
    "R601": Explanation(
        "No such port or signal",
        "The System has no port, state or coordinate of that name.",
        "Use one of the names that the message lists; `system.summary()` prints all ports.",
    ),
    "R602": Explanation(
        "No loop goes through the port",
        "Nothing drives this input, or nothing reads this output, so a cut opens no loop.",
        "Cut at an input that something drives, or at an output that drives something.",
    ),
    "R603": Explanation(
        "Signal is not an input",
        "A sine can be added to an input port, or act as a load on a coordinate.",
        "Name an input port, an input of the mechanism, or a coordinate.",
    ),
    "R604": Explanation(
        "Cut at a continuous signal of a sampled System",
        "Between the instants of its controllers such a loop has no response of its own in z.",
        "Cut where the signal is sampled: at a port of a member with a rate.",
    ),
    "R605": Explanation(
        "Frequencies that make no sense",
        "A frequency is negative, not finite, or above half the rate of a sampled signal.",
        "Give frequencies in rad/s between zero and half the rate.",
    ),
    "R606": Explanation(
        "Unstable loop",
        "The closed loop has a pole that does not decay, so it has no margins, no sensitivity and "
        "no steady response.",
        "Stabilize the loop first. The loop gain itself can be drawn without that.",
    ),
    "R607": Explanation(
        "Measured response at another frequency",
        "A response that was measured is known at its own frequencies only.",
        "Measure it at the frequencies that you need.",
    ),
    "R608": Explanation(
        "A run of a measurement ended early",
        "The System left what can be computed: a state is no longer finite, or steps got too "
        "short.",
        "Use a smaller amplitude, or leave out the frequency that the message names.",
    ),
    "R609": Explanation(
        "Describing function of nothing",
        "An amplitude, a gap, a limit, a level or a step is not above zero.",
        "Give sizes above zero.",
    ),
    "R610": Explanation(
        "Nonlinearity of several signals",
        "What drives the port depends on more than the signal that was named, so it has no "
        "describing function of that signal's amplitude.",
        "Name the port of the nonlinearity itself and what goes into it, or give its describing "
        "function.",
    ),
    "R611": Explanation(
        "No limit cycle",
        "No sine goes round the loop unchanged, or no orbit of the System is near one that does.",
        "The loop may be stable at every amplitude, or grow without end: simulate it.",
    ),
    "R612": Explanation(
        "A run ended before the period of an orbit",
        "The System left what can be computed while its orbit was looked for.",
        "Start nearer to the orbit, with other amplitudes.",
    ),
    "R613": Explanation(
        "Limit cycles of a sampled or driven System",
        "Ticks of controllers and signals of time do not repeat with a cycle, so there is no "
        "periodic orbit of the System's own.",
        "Use continuous controllers and constant inputs, or simulate it.",
    ),
    "R614": Explanation(
        "Map over the wrong number of parameters",
        "A map of limit cycles is over one or two parameters, with values for each.",
        "Name one or two parameters, each with a list of values.",
    ),
    "R650": Explanation(
        "Recording lacks a channel",
        "A fit needs the voltage, the current and the angle of the motor, and for the gear that of "
        "the load.",
        "Record the channel that is named, or say which channel it is.",
    ),
    "R651": Explanation(
        "Samples that cannot be used",
        "A fit needs finite samples at one rate, a hundred or more.",
        "Resample the recording, or cut it to where all sensors work.",
    ),
    "R652": Explanation(
        "Parameter that cannot be fitted",
        "The System has no parameter of that name, or it starts at zero.",
        "Use one of the names that the message lists, and start above zero.",
    ),
    "R653": Explanation(
        "Recording does not tell parameters apart",
        "Changing the parameters that are named together changes nothing that was measured.",
        "Record a motion that excites them, add a sensor, or hold one of them fixed.",
    ),
    "R654": Explanation(
        "Catalog entry is not complete",
        "An entry has numbers that a motion does not tell, such as the continuous torque.",
        "Give them by name, or take them from an entry that has them.",
    ),
    "R655": Explanation(
        "No parameters explain a recording",
        "With the best parameters that were found, what was measured is still much farther from "
        "what the model says than its noise: the drive has other parts, or units are wrong.",
        "Check units, signs and the ratio of the recording, and the parts of the drive.",
    ),
}

WORST_CASE = {
    "R701": Explanation(
        "No such worst case",
        "A worst case of a quantity was asked for that is not among those that are sought.",
        "Ask for torque, power, rms torque, force, moment, or a component fx to mz.",
    ),
    "R702": Explanation(
        "Payloads without a bound",
        "The worst payload is sought among all bodies of up to a mass inside a box.",
        "Give `Payload(up_to=3.0, box=(0.1, 0.1, 0.15))`.",
    ),
    "R703": Explanation(
        "No worst pose of this task",
        "The task cannot begin anywhere: it has fixed positions, a tool, or moves too far.",
        "Use rates, relative moves and dwells of joints, and ask for torque or power.",
    ),
    "R721": Explanation(
        "Limits of a motion that make no sense",
        "A limit is not above zero, has another number of entries than the motion, or a "
        "torque-speed line lacks one of its ends.",
        "Give one number above zero, or one for each value; stall and no_load together.",
    ),
    "R722": Explanation(
        "Limits of force without inverse dynamics",
        "Forces of a motion come from inverse dynamics, which is missing or gives another number "
        "of rows than it gets.",
        "Give dynamics=, a function of rows of coordinates, speeds and accelerations, such as "
        "robot.inverse_dynamics.",
    ),
    "R723": Explanation(
        "Limits that do not hold the weight",
        "At rest, a joint already takes more than its limit.",
        "Raise the limit, or move the path.",
    ),
    "R724": Explanation(
        "Fastest motion of nothing",
        "Without a limit of acceleration or force there is no fastest motion; a path needs two "
        "points or more, and paths of a batch the same number of values.",
        "Give acceleration=, effort=, or stall= and no_load=.",
    ),
    "R725": Explanation(
        "No way along the path",
        "The limits leave no motion from the start of the path to its end.",
        "Raise the limits, take more points, or smooth the path where it turns.",
    ),
    "R726": Explanation(
        "Motion that heats too much",
        "Holding the weight alone takes more than the continuous force allows.",
        "Raise continuous=, or give a longer rest=.",
    ),
}

REPORTS = {
    "R801": Explanation(
        "A scale without extent",
        "The lower end of an axis is not below its upper end, or one of them is not finite.",
        "Give the smaller end first: `--x-limits 0,10`.",
    ),
    "R802": Explanation(
        "Ticks too close",
        "The distance of ticks is not positive, or so small that they would run together.",
        "Give a step of about a tenth of the scale, or leave it out.",
    ),
    "R803": Explanation(
        "A layout that is none",
        "A value of a plot's layout is of the wrong kind, or the distance of marks is negative.",
        "Give marks as 1 for every sample, 10 for every tenth, 0 for none; scales as two numbers.",
    ),
    "R804": Explanation(
        "Off the page",
        "Axes or logo do not fit on the page, or a length is not one.",
        "Give a larger page, shorter axes, or another place; lengths are in inches.",
    ),
    "R805": Explanation(
        "Not a picture",
        "The file of a logo cannot be read as PNG or JPEG.",
        "Save the logo as PNG.",
    ),
    "R806": Explanation(
        "Two numbers are needed",
        "An option takes a pair of numbers.",
        "Write `--x-limits 0,10`, `--origin 1,1`, `--page 11x8.5`.",
    ),
    "R807": Explanation(
        "A report is a page",
        "The name of a report does not end in .html.",
        "Write `-o report.html`.",
    ),
    "R808": Explanation(
        "Not a part of a report",
        "A report was given something else in place of drives, a run, worst cases or a budget.",
        "Give what `size`, `simulate`, `Requirement.worst` and `error_budget` return.",
    ),
}

ERRORS = {
    **DEFINITION,
    **TASKS,
    **SIZING,
    **DRIVES,
    **FILTERS,
    **FREQUENCY,
    **WORST_CASE,
    **REPORTS,
}
"""Every number and what it means."""


def explanation(code: str) -> Explanation:
    """Return what a number means.

    >>> explanation("r101").title
    'Unknown error number'
    """
    found = ERRORS.get(code.upper())
    if found is None:
        near = nearest(code.upper(), ERRORS)
        raise InputError(
            f"there is no error {code!r}",
            remedy=f"did you mean {near}?" if near else "run `linkwright explain` for the list",
            code="R101",
        )
    return found


def page() -> str:
    """Return the page *Errors*.

    >>> page().splitlines()[0]
    '# Errors'
    """
    lines = [_HEAD]
    for digit, part in PARTS.items():
        codes = {code: e for code, e in ERRORS.items() if code[1] == digit}
        if not codes:
            continue
        lines += [f"## {part}\n", "| number | error | why | remedy |", "|---|---|---|---|"]
        lines += [
            f"| {code} | " + " | ".join(cell.replace("|", "\\|") for cell in e) + " |"
            for code, e in codes.items()
        ]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
