/** Discovery output for a terminal of 80 columns. */
import type { Candidate, HostFacts, TopologyMap } from '@gpuaas/contract/node';

const WIDTH = 80;
const GAP = 2;

/** Some of this text comes from firmware: nothing in it may move the cursor. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out.
const clean = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '');

/** Breaks between words; continuation lines are aligned with the start of the text. */
const wrap = (first: string, text: string): string[] => {
  const room = WIDTH - first.length;
  const lines: string[] = [];
  let line = '';
  for (const word of clean(text).split(' ')) {
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines.map((one, index) => `${index === 0 ? first : ' '.repeat(first.length)}${one}`);
};

const table = (headers: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string[] => {
  const cells = [headers, ...rows].map((row) => row.map((value) => clean(String(value ?? '-'))));
  const widths = headers.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((value, column) => value.padEnd((widths[column] ?? 0) + GAP))
      .join('')
      .trimEnd()
      .slice(0, WIDTH),
  );
};

const gpuRows = (facts: HostFacts): string[] => {
  if ('unreadable' in facts.gpus) return wrap('', `Unreadable: ${facts.gpus.unreadable}`);
  if (facts.gpus.value.length === 0) return ['No host driver holds a GPU.'];
  return table(
    ['ADDRESS', 'MODEL', 'MEMORY', 'MODULE', 'FABRIC', 'MIG', 'ECC'],
    facts.gpus.value.map((gpu) => [
      gpu.pci_address,
      gpu.model,
      gpu.memory_mib === null ? null : `${gpu.memory_mib} MiB`,
      gpu.module_id,
      gpu.fabric_state,
      gpu.mig_mode,
      gpu.ecc_mode,
    ]),
  );
};

const slotRows = (candidates: readonly Candidate[]): string[] =>
  candidates.length === 0
    ? ['None: no GPU found.']
    : table(
        ['SLOT', 'GPU', 'DISK', 'FABRIC', 'NUMA', 'STATUS'],
        candidates.map((one) => [
          one.slot_index,
          one.gpu_pci_address,
          one.nvme_serial,
          one.fabric_vf_pci_address,
          one.numa_node,
          one.blockers.length === 0 ? 'approvable' : `blocked (${one.blockers.length})`,
        ]),
      );

const blockerLines = (candidates: readonly Candidate[]): string[] =>
  candidates.flatMap((one) =>
    one.blockers.flatMap((blocker) => [`slot ${one.slot_index}: ${blocker.code}`, ...wrap('    ', blocker.message)]),
  );

const prerequisiteLines = (map: TopologyMap): string[] =>
  map.prerequisites.flatMap((one) =>
    wrap(`${one.is_met ? 'ok     ' : 'missing'}  ${one.name.padEnd(18)}`, one.message),
  );

export const describeHost = ({
  facts,
  map,
  map_hash,
}: Readonly<{ facts: HostFacts; map: TopologyMap; map_hash: string }>): string => {
  const system = 'value' in facts.system ? facts.system.value : null;
  const blockers = blockerLines(map.candidates);
  return `${[
    system === null
      ? 'host'
      : clean(`${system.hostname}: ${system.product ?? 'unknown product'}, Linux ${system.kernel}`),
    map_hash,
    '',
    'GPUs of the host’s drivers',
    ...gpuRows(facts),
    '',
    'Candidate slots',
    ...slotRows(map.candidates),
    ...(blockers.length > 0 ? ['', 'Blockers', ...blockers] : []),
    '',
    'Prerequisites',
    ...prerequisiteLines(map),
    ...(map.reboot_required ? ['', 'Some of this requires a restart of the host.'] : []),
  ].join('\n')}\n`;
};
