/** Prompts for the user, on standard error. Loaded only when needed. */
import { confirm, isCancel, password } from '@clack/prompts';
import { clean } from './clean.ts';
import { Interrupted } from './exit.ts';
import type { Io } from './io.ts';

export const ask = async (question: string, { stdin: input, stderr: output }: Io): Promise<boolean> => {
  const answer = await confirm({ message: clean(question), initialValue: false, input, output });
  if (isCancel(answer)) throw new Interrupted('No changes were made.');
  return answer;
};

export const askSecret = async (question: string, { stdin: input, stderr: output }: Io): Promise<string> => {
  const answer = await password({ message: clean(question), input, output });
  if (isCancel(answer)) throw new Interrupted('No changes were made.');
  return answer;
};
