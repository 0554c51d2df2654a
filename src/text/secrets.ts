import { SECRET_FINDINGS, SECRET_SCAN_CHARS } from '../base/limits.ts';
import { credentialFormats, REDACTED, URL_PASSWORD } from '../base/redact.ts';

/** Kind and line of a secret, without the secret itself. */
export interface SecretFinding {
  readonly kind: string;
  /** Line number, from 1. */
  readonly line: number;
}

/**
 * Finds credentials in the first `SECRET_SCAN_CHARS` characters of a text. Returns them in order, at most one of each
 * kind per line. The result is only a warning, so the function may miss a secret but rarely reports ordinary code or
 * documentation.
 */
export function findSecrets(text: string): SecretFinding[] {
  const scanned = text.slice(0, SECRET_SCAN_CHARS);
  const matches: { kind: string; at: number }[] = [];
  for (const { kind, pattern } of credentialFormats(scanned)) {
    for (const match of scanned.matchAll(pattern)) {
      if (!isPlaceholder(match[0])) matches.push({ kind, at: match.index });
      if (matches.length >= MAX_MATCHES) break;
    }
  }
  for (const match of scanned.matchAll(URL_PASSWORD)) {
    if (!isPlaceholder(match[2]!) && !PLAIN_WORD.test(match[2]!))
      matches.push({ kind: 'password in a URL', at: match.index });
  }
  for (const match of scanned.matchAll(ASSIGNMENT)) {
    if (isSecretValue(match[1]!, match[2]!)) matches.push({ kind: 'password or key', at: match.index });
  }
  for (const match of scanned.matchAll(BEARER)) {
    if (isSecretValue('key', match[1]!)) matches.push({ kind: 'bearer token', at: match.index });
  }
  return toFindings(scanned, matches);
}

/** Masks everything that `findSecrets` finds, in the whole text. */
export function maskSecrets(text: string): string {
  let masked = text;
  for (const { kind, pattern } of credentialFormats(text)) {
    // Mask the whole block of a private key, not only its first line.
    if (kind === 'private key') masked = masked.replace(PRIVATE_KEY_BLOCK, REDACTED);
    masked = masked.replace(pattern, (match) =>
      isPlaceholder(match) ? match : `${match.startsWith('#key=') ? '#key=' : ''}${REDACTED}`,
    );
  }
  // A plain check is faster than compiling the patterns below.
  if (!/:\/\/|pass|secret|key|token|bearer|basic/i.test(masked)) return masked;
  return masked
    .replace(URL_PASSWORD, (all, before: string, password: string) =>
      isPlaceholder(password) || PLAIN_WORD.test(password) ? all : `${before}:${REDACTED}@`,
    )
    .replace(ASSIGNMENT, (all, name: string, value: string) => maskEnd(all, name, value))
    .replace(BEARER, (all, value: string) => maskEnd(all, 'key', value));
}

function maskEnd(all: string, name: string, value: string): string {
  return isSecretValue(name, value) ? all.slice(0, -value.length) + REDACTED : all;
}

const PRIVATE_KEY_BLOCK =
  /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,80}-----|$)/g;

/**
 * Maximum number of collected matches. It is much larger than the number of reported findings, because one line may
 * have several matches.
 */
const MAX_MATCHES = SECRET_FINDINGS * 50;

/**
 * Matches an assignment such as `api_key: "…"`, `DB_PASSWORD=…` or `"clientSecret": "…"`. Captures the name and the
 * value.
 */
const ASSIGNMENT =
  /(password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|token)(?:[_-]\w{1,20})?["']?[ \t]{0,4}(?::|=>?|:=)[ \t]{0,4}["'`]?([^\s"'`,;&]{8,200})/gi;

/** Matches a header such as `Authorization: Bearer …`. */
const BEARER = /\b(?:bearer|basic)[ \t]{1,4}([\w+/=.~-]{16,4096})/gi;

/** Matches placeholders for a secret, and expressions that fetch a secret. */
const PLACEHOLDER =
  /example|placeholder|your|change[_-]?me|dummy|sample|fake|redacted|replace|insert|secret[_-]?here|key[_-]?here|x{4}|\*{3}|\.{3}|…|<|\$\{|\$\(|\{\{|%\w+%/i;

/** Matches code that refers to a value: a call, index, member, path or environment variable. */
const EXPRESSION =
  /[()[\]{}\\]|^\$|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^[./~]|:\/\/|^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/;

const PLAIN_WORD = /^[a-z]{1,12}$/i;

const SEQUENCES = /1234567|abcdefg|qwerty/i;

function isSecretValue(name: string, value: string): boolean {
  if (isPlaceholder(value) || EXPRESSION.test(value) || SEQUENCES.test(value)) return false;
  if (!/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  const lower = name.toLowerCase();
  if (lower.startsWith('pass')) return entropy(value) >= 2.75;
  // Programs often use the word `token`, so require a longer and more random value.
  const [length, bits] = lower === 'token' ? [20, 3.5] : [16, 3];
  return value.length >= length && entropy(value) >= bits;
}

function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value) || new Set(value).size < 5;
}

/** Returns the Shannon entropy in bits per character. */
function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

function toFindings(text: string, found: { kind: string; at: number }[]): SecretFinding[] {
  found.sort((a, b) => a.at - b.at);
  const findings: SecretFinding[] = [];
  const seen = new Set<string>();
  let line = 1;
  let passed = 0;
  for (const { kind, at } of found) {
    for (let end = text.indexOf('\n', passed); end !== -1 && end < at; end = text.indexOf('\n', passed)) {
      line++;
      passed = end + 1;
    }
    const name = `${line} ${kind}`;
    if (seen.has(name)) continue;
    seen.add(name);
    findings.push({ kind, line });
    if (findings.length === SECRET_FINDINGS) break;
  }
  return findings;
}
