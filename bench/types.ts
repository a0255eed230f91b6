/** One measurement compared with a reference of the same run. */
export type Measurement = Readonly<{
  name: string;
  /** Ours divided by the reference; null when there is nothing to divide by. */
  ratio: number | null;
  /** Such as ">=0.45" or "<=1.3"; null means printed only. */
  goal: string | null;
  reference: string;
  ours: string;
  pairs: number;
}>;

export type Bench = Readonly<{
  name: string;
  /** The missing requirement, with the way to get it; false when nothing is missing. */
  lacks?(): string | false | Promise<string | false>;
  run(): Promise<Measurement>;
}>;
