/** What others can observe of an error. `{name}` in a text is filled from the details given at the throw, `{name:bytes}` as an amount. */
export interface ErrorRow {
  readonly status: number;
  /** By default what the status stands for, see `exitOf`. */
  readonly exit?: 1 | 2 | 3 | 4 | 5;
  readonly message: string;
  /** What to do next, in the words of HTTP where they matter. */
  readonly hint: string;
  /** The same in the words of commands and flags, where `hint` speaks of requests. Without `{name}`. */
  readonly cli?: string;
  /** The same for a model that has called a tool. Without `{name}`. */
  readonly mcp?: string;
}
