/** The result of a host check, and how checks are combined. An unreadable part is not met. */
import type { Fact, HostFacts, Prerequisite } from '@gpuaas/contract/node';
import type { ToolName } from '../host/tools.ts';

export type Finding = Omit<Prerequisite, 'name'>;
export const met = (message: string): Finding => ({ is_met: true, needs_reboot: false, message });
export const unmet = (message: string, needs_reboot = false): Finding => ({ is_met: false, needs_reboot, message });

export const of = <T>(fact: Fact<T>, judge: (value: T) => Finding): Finding =>
  'value' in fact ? judge(fact.value) : unmet(`Unreadable: ${fact.unreadable}`);

export const tool = (facts: HostFacts, name: ToolName, how: string): Finding =>
  of(facts.tools, (tools) => {
    const found = tools.find((one) => one.name === name);
    if (found === undefined) return unmet(`${name} was not checked.`);
    return found.version === null ? unmet(`${name} is missing. ${how}`) : met(`${name} ${found.version}`);
  });

export const all = (findings: readonly Finding[]): Finding => {
  const missing = findings.filter((one) => !one.is_met);
  const shown = missing.length > 0 ? missing : findings;
  return {
    is_met: missing.length === 0,
    needs_reboot: missing.some((one) => one.needs_reboot),
    message: shown.map((one) => one.message).join(' '),
  };
};
