/** Prompts for the user, on standard error. Loaded only when needed. */
import { confirm, isCancel, password, select, text } from '@clack/prompts';
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

/** Questions to the user. Each throws when the user cancels. */
export type Prompts = Readonly<{
  text(question: string, initial?: string): Promise<string>;
  /** As `text`, where nothing is a reply too. */
  optionalText(question: string, initial?: string): Promise<string>;
  select(question: string, values: readonly string[]): Promise<string>;
  confirm(question: string): Promise<boolean>;
}>;

/** The questions of a longer dialog. Cancelling ends it. */
export const promptsOf = (io: Io): Prompts => {
  const { stdin: input, stderr: output } = io;
  const answered = (answer: string | symbol): string => {
    if (typeof answer !== 'string') throw new Interrupted('Nothing more was changed.');
    return answer;
  };
  const askText = async (question: string, initial: string | undefined, isRequired: boolean): Promise<string> => {
    const isMissing = (value: string | undefined) => isRequired && (value ?? '').trim() === '';
    return answered(
      await text({
        message: clean(question),
        ...(initial === undefined ? {} : { initialValue: initial }),
        validate: (value) => (isMissing(value) ? 'Enter a value.' : undefined),
        input,
        output,
      }),
    ).trim();
  };
  return {
    text: (question, initial) => askText(question, initial, true),
    optionalText: (question, initial) => askText(question, initial, false),
    select: async (question, values) => {
      const options = values.map((value) => ({ value, label: clean(value) }));
      return answered(await select({ message: clean(question), options, input, output }));
    },
    confirm: (question) => ask(question, io),
  };
};
