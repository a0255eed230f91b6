/** Converts a launch and the catalog into a scheduler request. */

import type { KeyColumn } from '../db/placement.ts';
import type { LaunchFacts, LaunchQuery } from '../db/statements/launch.ts';
import * as domain from '../domain/launch.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';

export type Launch = Omit<LaunchQuery, 'ssh_key_ids'> & Pick<domain.LaunchAsk, 'storage' | 'network'>;

export type CheckedLaunch = domain.CheckedLaunch<NonNullable<LaunchFacts['sku']>, NonNullable<LaunchFacts['region']>>;

export const noneNamed = (noun: string, name: string): AppError =>
  new AppError('not_found', REFUSALS.none_named(noun, name));

const errorOf = (refusal: domain.LaunchRefusal): AppError => {
  switch (refusal.kind) {
    case 'missing':
      return noneNamed(refusal.noun, refusal.name);
    case 'field': {
      const { name, code, message } = refusal;
      return new AppError('invalid_request', `Invalid request: ${name} ${message}.`, {
        errors: [{ pointer: `/body/${name}`, code, message }],
      });
    }
    case 'not_offered':
      return new AppError('sku_disabled', refusal.message);
  }
};

export const checkLaunch = (launch: Launch, facts: LaunchFacts): CheckedLaunch & domain.ChosenLaunch => {
  const checked = domain.checkLaunch(launch, facts);
  if ('kind' in checked) throw errorOf(checked);
  return checked;
};

/** Which column of the placement index ranks nodes for a launch. A slice of another size than those is not indexed. */
export const keyColumnOf = (gpuCount: number, isBareMetal: boolean): KeyColumn => {
  if (isBareMetal) return 'key_node';
  return gpuCount >= 8 ? 'key_8' : gpuCount >= 4 ? 'key_4' : gpuCount >= 2 ? 'key_2' : 'key_1';
};
