import { findSecrets } from '../../text/secrets.ts';

/** What to say of texts that go into project files, where one looks like a secret; null where none does. Never the secret itself. */
export function secretWarning(texts: readonly unknown[]): string | null {
  const strings = texts.flat().filter((text) => typeof text === 'string');
  const kinds = new Set(strings.flatMap((text) => findSecrets(text).map(({ kind }) => kind)));
  if (kinds.size === 0) return null;
  return `this looks like it holds a secret (${[...kinds].join(', ')}), and project files are meant to be committed. Briefs mask it. Take it out of the file, and revoke it if it was committed.`;
}
