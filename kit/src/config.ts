/**
 * Reads settings from the environment into a typed object and reports every mistake together, by variable name. A
 * setting is declared where it is used; nothing else reads `process.env`.
 */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

export type Env = Readonly<Record<string, string | undefined>>;

export class ConfigReader {
  readonly #env: Env;
  readonly #problems: string[] = [];

  constructor(env: Env) {
    this.#env = env;
  }

  optional(name: string): string | undefined {
    const value = this.#env[name]?.trim();
    return value === '' ? undefined : value;
  }

  text(name: string, fallback: string): string {
    return this.optional(name) ?? fallback;
  }

  integer(name: string, fallback: number, range: Readonly<{ min: number; max: number }>): number {
    const raw = this.optional(name);
    if (raw === undefined) return fallback;
    const value = Number(raw);
    if (Number.isInteger(value) && value >= range.min && value <= range.max) return value;
    this.problem(name, `must be a whole number from ${range.min} to ${range.max}, not "${raw}"`);
    return fallback;
  }

  flag(name: string, fallback: boolean): boolean {
    const raw = this.optional(name)?.toLowerCase();
    if (raw === undefined) return fallback;
    if (['1', 'true', 'yes', 'on'].includes(raw)) return true;
    if (['0', 'false', 'no', 'off'].includes(raw)) return false;
    this.problem(name, `must be 1 or 0, not "${raw}"`);
    return fallback;
  }

  oneOf<const T extends readonly string[]>(name: string, values: T, fallback: T[number]): T[number] {
    const raw = this.optional(name);
    if (raw === undefined) return fallback;
    if (values.includes(raw)) return raw;
    this.problem(name, `must be one of ${values.join(', ')}, not "${raw}"`);
    return fallback;
  }

  url(name: string): URL | undefined {
    const raw = this.optional(name);
    if (raw === undefined) return undefined;
    if (URL.canParse(raw)) return new URL(raw);
    this.problem(name, `must be a URL`);
    return undefined;
  }

  problem(name: string, sentence: string): void {
    this.#problems.push(`${name} ${sentence}`);
  }

  /** Throws one error that lists all problems, if there are any. */
  finish(): void {
    if (this.#problems.length > 0) throw new ConfigError(`Invalid configuration:\n  ${this.#problems.join('\n  ')}`);
  }
}
