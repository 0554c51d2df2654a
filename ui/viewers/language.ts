const BY_ENDING: { readonly [ending: string]: string } = {
  ts: 'typescript',
  tsx: 'typescript',
  mts: 'typescript',
  js: 'typescript',
  mjs: 'typescript',
  jsx: 'typescript',
  py: 'python',
  sh: 'shellscript',
  bash: 'shellscript',
  yaml: 'yaml',
  yml: 'yaml',
  go: 'go',
  rs: 'rust',
  sql: 'sql',
  css: 'css',
};

/** Returns the language for highlighting by file name; null for plain text. */
export function languageOf(name: string): string | null {
  return BY_ENDING[/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? null;
}
