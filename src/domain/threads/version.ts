import { badRequest } from '../../base/errors.ts';

export function versionRef(version: number): string {
  return `v${version}`;
}

/** `v7`, `7`, and `"v7"` as an entity tag. */
export function parseVersion(ref: string | number): number {
  const match = /^(?:W\/)?"?v?(\d{1,15})"?$/.exec(String(ref).trim());
  if (!match) throw badRequest(`"${String(ref).slice(0, 40)}" is not a version such as v7.`);
  return Number(match[1]);
}
