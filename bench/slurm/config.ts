/**
 * The controller's configuration. Nothing in it slows Slurm down: addresses resolve (an unresolvable name costs it
 * seconds of retries), finished jobs leave its memory, accounting is off. A node has the shape of a host with eight
 * GPUs and two sockets of 32 cores; nodes are cloud nodes, so that none needs a daemon.
 */
export const NODES = 1_000;
const NODES_PER_LINE = 250;

export type Flavour = Readonly<{
  select: 'cons_tres' | 'linear';
  /** The resources of a node and of a job; null without GPUs. */
  gpus: Readonly<{ per_node: number; asked: number }> | null;
}>;

export type Place = Readonly<{ dir: string; hostname: string; controllerPort: number; nodePort: number }>;

export const mungeSocket = (dir: string): string => `${dir}/munge.socket`;
export const logFile = (dir: string): string => `${dir}/slurmctld.log`;

const nodeLine = (line: number, gres: string): string => {
  const first = line * NODES_PER_LINE + 1;
  const names = `n[${first}-${first + NODES_PER_LINE - 1}]`;
  return `NodeName=${names} NodeAddr=127.1.${line}.[1-${NODES_PER_LINE}] Sockets=2 CoresPerSocket=32 RealMemory=1000${gres} State=CLOUD`;
};

export const slurmConf = ({ select, gpus }: Flavour, place: Place): string => {
  const gres = gpus === null ? '' : ` Gres=gpu:${gpus.per_node}`;
  return `${[
    'ClusterName=bench',
    `SlurmctldHost=${place.hostname}(127.0.0.1)`,
    `SlurmctldPort=${place.controllerPort}`,
    `SlurmdPort=${place.nodePort}`,
    'CommunicationParameters=NoCtldInAddrAny',
    'AuthType=auth/munge',
    `AuthInfo=socket=${mungeSocket(place.dir)}`,
    'CredType=cred/munge',
    'SlurmUser=root',
    'SlurmdUser=root',
    `StateSaveLocation=${place.dir}/state`,
    `SlurmctldPidFile=${place.dir}/slurmctld.pid`,
    `SlurmctldLogFile=${logFile(place.dir)}`,
    'SlurmctldDebug=error',
    'MailProg=/bin/true',
    'MpiDefault=none',
    'ProctrackType=proctrack/linuxproc',
    'TaskPlugin=task/none',
    'JobAcctGatherType=jobacct_gather/none',
    'SchedulerType=sched/backfill',
    `SelectType=select/${select}`,
    ...(select === 'cons_tres' ? ['SelectTypeParameters=CR_Core'] : []),
    ...(gpus === null ? [] : ['GresTypes=gpu']),
    'MaxJobCount=1000000',
    'MinJobAge=2',
    'ReturnToService=2',
    'ResumeProgram=/bin/true',
    'SuspendProgram=/bin/true',
    // Longer than the benchmark: a node that never boots must not be marked down meanwhile.
    'ResumeTimeout=3600',
    'SuspendTime=86400',
    ...Array.from({ length: NODES / NODES_PER_LINE }, (_, line) => nodeLine(line, gres)),
    'PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP',
  ].join('\n')}\n`;
};

export const gresConf = ({ gpus }: Flavour): string => (gpus === null ? '' : `Name=gpu Count=${gpus.per_node}\n`);
