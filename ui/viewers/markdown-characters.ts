/** Replaces the package `uc.micro` in the bundle: browsers support these character classes. */
export const Any = /[\s\S]/u;
export const Cc = /\p{Cc}/u;
export const Cf = /\p{Cf}/u;
export const P = /\p{P}/u;
export const S = /\p{S}/u;
export const Z = /\p{Z}/u;
