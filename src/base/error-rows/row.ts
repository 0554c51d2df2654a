/** What others can observe of an error. `{name}` in a text is filled from the details given at the throw. */
export interface ErrorRow {
  readonly status: number;
  /** By default what the status stands for, see `exitOf`. */
  readonly exit?: 1 | 2 | 3 | 4 | 5;
  readonly message: string;
  readonly hint: string;
}
