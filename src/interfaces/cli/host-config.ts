import type { Json } from '../../base/json.ts';

/** The options of the relay: what counts, where it was said, and what is wrong with it. */
export interface Settings {
  /** `<home>/config.json`, whether or not it is there. */
  readonly file: string;
  show(): Setting[];
  /** The variables of the environment that are no options. A secret is only told to be set. */
  variables(): { readonly name: string; readonly value: string | null; readonly help: string }[];
  /** What counts for an option as it is, with what `show` leaves out; null where nothing was said and there is no default. */
  get(name: string): unknown;
  /**
   * Writes an option into the file, and leaves all else in there as it was. One word is taken as JSON, as a text or as a list
   * of one, whichever the option takes; several are a list; null takes the option out.
   */
  set(name: string, words: readonly string[] | null): Promise<ChangedSetting>;
  /** Everything that is wrong, also where only a server would notice it. */
  check(): Promise<SettingProblem[]>;
}

export interface Setting {
  readonly name: string;
  /** What counts; of a secret what may be seen. */
  readonly value: unknown;
  readonly default: unknown;
  readonly from: 'default' | 'file' | 'environment';
  /** The variable that wins over the file. */
  readonly variable: string | null;
  readonly help: string;
  /** What is said cannot be used, and why; the value is then the default. */
  readonly problem?: string;
}

export interface ChangedSetting {
  readonly name: string;
  readonly value: Json;
  readonly file: string;
  readonly changed: boolean;
  /** A variable that is set and wins over what was written. */
  readonly overridden_by: string | null;
  /** A server that runs on this home goes on as it was started. */
  readonly restart: boolean;
}

export interface SettingProblem {
  readonly state: 'wrong' | 'warning';
  /** The file with its line, or the variable. */
  readonly where: string;
  readonly what: string;
}
