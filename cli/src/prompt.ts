/** Questions to the person, on standard error. Loaded only when one is asked. */
import { confirm, isCancel, password } from '@clack/prompts';
import { clean } from './clean.ts';
import { Interrupted } from './exit.ts';

const output = process.stderr;

export const ask = async (question: string): Promise<boolean> => {
  const answer = await confirm({ message: clean(question), initialValue: false, output });
  if (isCancel(answer)) throw new Interrupted('Nothing was changed.');
  return answer;
};

export const askSecret = async (question: string): Promise<string> => {
  const answer = await password({ message: clean(question), output });
  if (isCancel(answer)) throw new Interrupted('Nothing was changed.');
  return answer;
};
