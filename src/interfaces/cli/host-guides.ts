/** The guides that came with the program, as Markdown. */
export interface Guides {
  readonly index: readonly GuideSection[];
  /** Null where there is no such guide. */
  read(topic: string): string | null;
}

export interface GuideSection {
  readonly title: string;
  readonly guides: readonly Guide[];
}

export interface Guide {
  /** What `relay help` calls it: the name of its file. */
  readonly topic: string;
  readonly title: string;
  readonly about: string;
  /** From docs/ on. */
  readonly file: string;
}
