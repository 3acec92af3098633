"""What sbatch and srun print when they refuse a job, with the meaning of each text.

The texts are those of slurm_errno.c, slurm_opt.c and sbatch (releases 20.11 to 26.05). The first pattern that a line
begins with decides. `vague` texts leave it to a line before them, where there is one.
"""

from __future__ import annotations

from typing import NamedTuple


class RefusalText(NamedTuple):
    """`pattern` is what a line begins with, as a regular expression; `field` the dotted field of a job to change."""

    pattern: str
    text: str
    action: str
    field: str | None = None
    vague: bool = False


_PARTITIONS = "Choose another partition; sinfo -s lists them."
_STAFF = "Ask the cluster's staff."
_LATER = "Wait a minute and submit it again."
_EDIT = "Take back the edit of the script, or correct that line."
_RESERVATION = "Name another reservation or none; scontrol show reservation lists them."
_CONTAINER = "Ask the cluster's staff, or run the image with apptainer."
_SIZE = "Ask for fewer nodes, or another topology: leave --segment and --switches out."

_PLACE = (
    RefusalText(
        r"Requested node configuration is not available",
        "No node of the partition can ever satisfy what the job asks for. Or it asks for more nodes than there are.",
        "Choose another partition, or ask for fewer nodes, another GPU type, or fewer GPUs, CPUs, or less memory.",
        "resources.partition",
        vague=True,
    ),
    RefusalText(
        r"CPU count per node can not be satisfied",
        "No node of the partition has so many CPUs.",
        "Ask for fewer CPUs per rank or fewer ranks per node.",
        "resources.cpus_per_task",
    ),
    RefusalText(
        r"Memory specification can not be satisfied|Memory required by task is not available",
        "The nodes have less memory than the job asks for, or it is over a limit of the partition.",
        "Ask for less memory; sinfo -o '%P %m' lists what the nodes have, in MiB.",
        "resources.mem",
    ),
    RefusalText(
        r"Temporary disk specification can not be satisfied",
        "No node of the partition has so much local disk.",
        "Ask for less with --tmp, or choose another partition.",
        "resources.partition",
    ),
    RefusalText(
        r"Socket, core and/or thread specification can not be satisfied",
        "No node of the partition has so many processor sockets, cores or threads.",
        "Ask for fewer CPUs per rank, or leave the options for sockets, cores and threads out.",
        "resources.cpus_per_task",
    ),
    RefusalText(
        r"Node feature requirements can not be satisfied|Invalid (?:preferred )?feature specification"
        r"|Job --batch option is invalid or not a subset of --constraint|Invalid extra constraints specification",
        "No node of the partition has the features that the job asks for.",
        "Correct the features; sinfo -o '%P %f' lists those of the nodes.",
        "resources.constraint",
    ),
    RefusalText(
        r"Requested topology configuration is not available|No suitable topology unit found"
        r"|Required nodes do not fit topology|Insufficient resources in topology unit|No available nodes in topology"
        r"|Weight-based selection could not satisfy request within topology unit"
        r"|Exceeded maximum node limit during topology allocation|--segment=",
        "So many nodes cannot be had close enough to each other in the network.",
        _SIZE,
        "resources.nodes",
    ),
    RefusalText(
        r"Requested partition configuration not available now",
        "The partition cannot take this job now: it is down, or the job is over a limit of it.",
        f"{_PARTITIONS} scontrol show partition tells the limits.",
        "resources.partition",
        vague=True,
    ),
    RefusalText(
        r"invalid partition specified: (?P<what>.*)",
        "The cluster has no partition of this name: {what}.",
        _PARTITIONS,
        "resources.partition",
    ),
    RefusalText(
        r"Invalid partition name specified",
        "The cluster has no partition of this name.",
        _PARTITIONS,
        "resources.partition",
        vague=True,
    ),
    RefusalText(
        r"No partition specified or system default partition",
        "The job names no partition, and the cluster has no default one.",
        "Name a partition; sinfo -s lists them.",
        "resources.partition",
    ),
    RefusalText(
        r"User's group not permitted to use this partition",
        "You are in no group that may use this partition.",
        f"{_PARTITIONS} scontrol show partition tells who may use it.",
        "resources.partition",
    ),
    RefusalText(
        r"Access/permission denied",
        "Slurm does not permit it: most often the partition or the account is for other people.",
        f"{_PARTITIONS} scontrol show partition tells who may use it.",
        vague=True,
    ),
    RefusalText(
        r"Required partition not available \(inactive or drain\)|Partition in DOWN state",
        "The partition is closed for now.",
        "Choose another partition, or wait until it is open.",
        "resources.partition",
    ),
    RefusalText(
        r"Multiple partition job request not supported when a partition is set in the association",
        "Your account is bound to one partition, so a job cannot name several.",
        "Name one partition.",
        "resources.partition",
    ),
    RefusalText(
        r"Requested nodes not in this partition|Invalid node name specified|Invalid node list specified",
        "The job names nodes that do not exist or are not in this partition.",
        "Correct the names or leave them out; sinfo -N lists the nodes.",
        "resources.exclude",
    ),
    RefusalText(
        r"Required node not available \(down, drained or reserved\)|Requested nodes are busy"
        r"|Required nodes lack available resources|Job can not start immediately|Immediate execution impossible",
        "The nodes that the job needs are down, drained, reserved or taken, and it was not to wait for them.",
        "Name no nodes and submit it with sbatch, so that it waits in the queue.",
    ),
    RefusalText(
        r"Job can not start due to maintenance reservation",
        "The job would run into a maintenance of the cluster.",
        "Take a time limit that ends before it; scontrol show reservation tells its time.",
        "resources.time_limit",
    ),
)

_WHO = (
    RefusalText(
        r"Invalid account or account/partition combination specified|Invalid or unknown association",
        "You may not charge this account, or not in this partition.",
        "Choose another account; sacctmgr show assoc user=$USER lists yours.",
        "resources.account",
    ),
    RefusalText(
        r"Invalid QOS specification, relative QOS can only be used in a single partition",
        "This QOS (class of service) counts in shares of a partition and is bound to another one.",
        "Choose another QOS, and tell the cluster's staff.",
        "resources.qos",
    ),
    RefusalText(
        r"Invalid qos specification",
        "You may not use this QOS (class of service), or not in this partition.",
        "Choose another QOS; sacctmgr show assoc user=$USER lists yours.",
        "resources.qos",
    ),
    RefusalText(
        r"Job violates accounting/QOS policy",
        "The job is over a limit of your account or of its QOS (class of service): jobs in the queue, size or time.",
        "Ask for less or a shorter time, or wait for your jobs to end; sacctmgr show assoc and show qos list limits.",
        "resources.qos",
        vague=True,
    ),
    RefusalText(
        r"Requested account has breached requested QOS usage threshold",
        "Your account has used so much that its share fell below what this QOS (class of service) demands.",
        "Choose another QOS or account, or wait until past usage counts less.",
        "resources.qos",
    ),
    RefusalText(
        r"Access denied to requested reservation|Requested reservation is invalid"
        r"|Requested reservation (?:is )?(?:not usable now|in use)"
        r"|Problem using reservation|Required nodes outside of the reservation",
        "The reservation does not exist, is not yours to use, or cannot be used now.",
        _RESERVATION,
        "resources.reservation",
    ),
    RefusalText(
        r"Invalid license specification|Licenses currently unavailable",
        "The cluster does not have the licences that the job asks for, or all are taken.",
        "Correct the licences or wait; scontrol show license lists them.",
    ),
    RefusalText(
        r"Invalid wckey specification",
        "This workload key (wckey), a label for accounting, is not one that you may use.",
        "Leave --wckey out, or ask the cluster's staff for yours.",
    ),
    RefusalText(
        r"Invalid mcs_label specified|MCS plugin error",
        "The security label (--mcs-label) is not one that you may use.",
        "Leave --mcs-label out.",
    ),
    RefusalText(
        r"Invalid --nice value",
        "The priority offset (--nice) is out of range; only the cluster's staff may give negative ones.",
        "Leave --nice out, or give a smaller number that is not negative.",
    ),
    RefusalText(r"System submissions disabled", "The cluster takes no jobs for now.", "Wait until it does."),
    RefusalText(
        r"Only batch jobs are accepted or processed|Requested operation is presently disabled",
        "The cluster does not take this kind of job.",
        "Submit it with sbatch; otherwise ask the cluster's staff.",
    ),
)

_SIZES = (
    RefusalText(
        r"Invalid time-min specification|Invalid --time-min specification",
        "The least time (--time-min) is longer than the time limit, or over another limit.",
        "Leave --time-min out, or make it shorter than the time limit.",
        "resources.time_limit",
    ),
    RefusalText(
        r"Requested time limit is invalid|Invalid --time specification|Invalid time specified",
        "The time limit is missing, cannot be read, or is longer than the partition allows.",
        "Take a shorter time limit; sinfo -o '%P %l' lists the longest times.",
        "resources.time_limit",
    ),
    RefusalText(
        r"Incompatible begin and deadline time specification|Invalid --(?:begin|deadline) specification",
        "The start time and the deadline do not go together or cannot be read.",
        "Correct --begin and --deadline.",
    ),
    RefusalText(
        r'Node count specification invalid|invalid number of nodes|"?.*"? is not a valid node count'
        r"|Job size specification needs to be provided",
        "The number of nodes is missing, not a number, or more or fewer than the partition allows.",
        "Ask for another number of nodes; scontrol show partition tells the least and the most.",
        "resources.nodes",
    ),
    RefusalText(
        r"More processors requested than permitted|CPU count specification invalid|invalid number of cpus per task"
        r"|Cannot request more threads per core than the job allocation",
        "The job asks for more CPUs than it may have or than the numbers of nodes and ranks allow.",
        "Ask for fewer CPUs per rank.",
        "resources.cpus_per_task",
    ),
    RefusalText(
        r"Task count specification invalid|Task distribution specification invalid|invalid number of tasks"
        r"|Too few processes for the requested|Invalid --distribution specification"
        r"|task count required for arbitrary distribution",
        "The number of ranks does not go with the number of nodes, or with the way they are to be spread.",
        "Correct the ranks per node.",
        "resources.ntasks_per_node",
    ),
    RefusalText(
        r"--ntasks-per-core \(-?\d+\) can not be bigger than --threads-per-core",
        "The job asks for more ranks on a core than the core has threads.",
        "Leave --ntasks-per-core and --threads-per-core out.",
        "resources.ntasks_per_node",
    ),
    RefusalText(
        r"Invalid --mem specification|Invalid --mem-per-\w+ specification",
        "The memory cannot be read.",
        "Write it as a number with K, M, G or T, such as 64G.",
        "resources.mem",
    ),
    RefusalText(
        r"--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive"
        r"|SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive",
        "The memory is given in two ways at once.",
        "Keep one of --mem, --mem-per-cpu and --mem-per-gpu; within a job, unset the other SLURM_MEM_ variables first.",
        "resources.mem",
    ),
    RefusalText(
        r"--gpus-per-node and --gres=gpu are mutually exclusive",
        "The GPUs are given in two ways at once.",
        "Keep --gpus-per-node or --gres=gpu, not both.",
        "resources.gpus_per_node",
    ),
    RefusalText(
        r"Invalid GRES specification \(with and without type identification\)",
        "Some GPUs are asked for with a type and others without one.",
        "Give a type everywhere or nowhere.",
        "resources.gpu_type",
    ),
    RefusalText(
        r"Invalid generic resource \(gres\) specification|Duplicate generic resource \(gres\) specification",
        "The cluster has no GPUs of this name or type, or they are asked for twice.",
        "Correct the GPU type; sinfo -o '%P %G' lists what the nodes have.",
        "resources.gpu_type",
    ),
    RefusalText(
        r"Requested GRES option unsupported by configured SelectType plugin",
        "This cluster hands out whole nodes and cannot count GPUs for each rank.",
        "Ask for GPUs per node.",
        "resources.gpus_per_node",
    ),
    RefusalText(
        r"Insufficient GRES available in allocation",
        "srun asks for more GPUs than the job has, or an earlier srun still holds them.",
        "Ask for more GPUs for the job, or give srun --overlap.",
        "resources.gpus_per_node",
    ),
    RefusalText(
        r"Invalid Trackable RESource \(TRES\) specification|Invalid TRES for --tres-per-task",
        "An amount of GPUs or other resources is empty or cannot be read.",
        "Correct the GPUs, or leave --gres and the --tres options out.",
        "resources.gpus_per_node",
    ),
    RefusalText(
        r"RestrictedCoresPerGPU",
        "The nodes keep CPU cores for each GPU, and the job does not fit them.",
        "Ask for fewer CPUs per GPU.",
        "resources.cpus_per_task",
    ),
    RefusalText(
        r".* (?:is|are) mutually exclusive",
        "Two options say different things about the same.",
        "Keep one of the two that Slurm names; a SLURM_ variable counts as an option.",
    ),
    RefusalText(
        r"cpus_per_task set by two different environment variables|.* set by two different environment variables"
        r"|You can not have --tres-per-task=",
        "The CPUs for each rank are given in two ways that differ.",
        "Keep one of them; within a job, unset the other SLURM_ variable first.",
        "resources.cpus_per_task",
    ),
    RefusalText(
        r"Job dependency problem|Circular job dependency|Invalid --dependency specification",
        "The job depends on one that Slurm does not know (any more), or on itself.",
        "Correct --dependency; a job that ended some minutes ago is forgotten.",
    ),
    RefusalText(
        r"Invalid job array specification",
        "The job array cannot be read or is larger than the cluster allows.",
        "Take smaller numbers; scontrol show config tells MaxArraySize.",
    ),
)

_SCRIPT = (
    RefusalText(
        r"Batch script is empty!|Batch script contains only whitespace!|Job script not specified",
        "The script is empty.",
        "Take back the edit of the script.",
    ),
    RefusalText(
        r"This does not look like a batch script|line must start with #! followed by the path",
        "The script's first line must be #! and a program, such as #!/bin/bash.",
        "Make that the first line.",
    ),
    RefusalText(
        r"The Slurm controller does not allow scripts that|contain a NULL character",
        "The script holds a zero byte, so it is no text.",
        _EDIT,
    ),
    RefusalText(
        r"Batch script contains DOS line breaks|instead of expected UNIX line breaks",
        "The script has the line ends of Windows.",
        "Convert it: dos2unix FILE.",
    ),
    RefusalText(
        r"Unable to open file|Unable to load file for reading", "The script cannot be read.", "Check its path."
    ),
    RefusalText(
        r"Script .*is too (?:large|big)",
        "The script is larger than Slurm takes.",
        "Move what is long into a file that the script reads.",
    ),
    RefusalText(
        r"Invalid directive found in batch script: (?P<what>.*)",
        "An #SBATCH line holds what sbatch does not know: {what}.",
        _EDIT,
    ),
    RefusalText(r".*: line \d+: Un(?:expected|matched)|Unmatched ", "An #SBATCH line cannot be read.", _EDIT),
    RefusalText(
        r"Change from #SLURM to #SBATCH", "An option line begins with #SLURM.", "Write #SBATCH instead of #SLURM."
    ),
    RefusalText(
        r"Script arguments not permitted with --wrap option|Script arguments not permitted with --external option",
        "There are arguments for a script, but the job has none.",
        "Put them into the wrapped command, or submit a script.",
    ),
    RefusalText(
        r"(?:unrecognized|invalid|ambiguous) option|option '?.*'? (?:requires an argument|doesn't allow an argument"
        r"|is ambiguous)",
        "The script has an option that this release of Slurm does not know, or its value is missing.",
        f"{_EDIT} sbatch --help lists the options.",
    ),
    RefusalText(
        r"Invalid --?[\w-]+(?: .*)? (?:specification|argument|combo|option)|invalid --?[\w-]+"
        r"|Invalid -W umask= specification|Invalid signal name or number",
        "The value of an option cannot be read.",
        "Correct the option that Slurm names; man sbatch tells how it is written.",
    ),
    RefusalText(
        r"Pathname of a file, directory or other parameter too long|Argument list too long",
        "A path, an option or a variable is too long for Slurm.",
        "Shorten the variables, or write long ones into a file that the script reads.",
        "env",
    ),
    RefusalText(
        r"I/O error writing script/environment to file",
        "Slurm could not store the script or its environment: too large, or the disk of the controller is full.",
        "Shorten the variables; if that does not help, tell the cluster's staff.",
        "env",
    ),
    RefusalText(
        r"Environment is missing in job",
        "The job came without an environment.",
        "Submit it with sbatch, not through another program.",
        "env",
    ),
    RefusalText(
        r"Job cannot be submitted without the current working directory specified",
        "The job came without a folder to run in.",
        "Submit it with sbatch, not through another program.",
        "run.work_dir",
    ),
)

_SITE = (
    RefusalText(
        r"(?:Slurm job queue full|Job creation temporarily disabled|Slurm temporarily unable to accept job)"
        r"|MaxJobCount limit reached|Resource temporarily unavailable|Required ports are in use",
        "The cluster has no room for another job just now.",
        _LATER,
    ),
    RefusalText(r"Rate limit exceeded, please retry", "You have asked Slurm too often in a short time.", _LATER),
    RefusalText(
        r"Unable to contact slurm controller|Socket timed out|Communication connection failure|Connection refused"
        r"|Message (?:send|receive) failure|Zero Bytes were transmitted"
        r"|(?:Slurm backup )?controller (?:is )?in standby",
        "Slurm's controller does not answer.",
        "Wait a minute and look whether the job is in the queue before you submit it again.",
    ),
    RefusalText(
        r"Incompatible versions of client and server code|Protocol authentication error|Invalid user id"
        r"|Invalid group id|Error generating job credential|Invalid job credential|Unable to resolve user ID",
        "Slurm does not recognise you or this machine: its versions, keys or clocks do not go together.",
        _STAFF,
    ),
    RefusalText(
        r"Container support is not configured|Container runtime not configured or invalid|Invalid container id",
        "This cluster's Slurm does not run containers itself (--container).",
        _CONTAINER,
        "runtime.kind",
    ),
    RefusalText(
        r"Burst Buffer (?:permission denied|resource limit exceeded|request invalid)|Waiting for burst buffer",
        "The burst buffer, the fast storage of the nodes, cannot be had as it was asked for.",
        "Correct the burst buffer lines of the script.",
    ),
    RefusalText(r"X11 forwarding not available", "This cluster does not forward X11 windows.", "Leave --x11 out."),
    RefusalText(
        r"Requested operation not supported on this system|Invalid MPI plugin name|Plugin initialization failed",
        "This cluster's Slurm is set up without what the job asks for.",
        "Leave the option out that asks for it, or ask the cluster's staff.",
    ),
    RefusalText(r"Slurm internal error", "Slurm itself failed.", _STAFF, vague=True),
    RefusalText(
        r"Unspecified error|cli_filter plugin terminated with error|Plugin stack post-option processing failed",
        "A rule of this cluster refuses the job and does not say why.",
        _STAFF,
        vague=True,
    ),
)

REFUSAL_TEXTS = _PLACE + _WHO + _SIZES + _SCRIPT + _SITE
