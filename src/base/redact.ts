export const REDACTED = '[redacted]';

/**
 * Removes credentials, encryption keys in pointer URLs, and Authorization values from a log text. It removes too much
 * rather than too little, because a leaked secret is worse than a missing word. The warning before a push does the
 * opposite: it misses a credential rather than raising a false alarm.
 */
export function redact(text: string): string {
  let clean = text
    .replace(FRAGMENT_KEY, `$1${REDACTED}`)
    .replace(AUTHORIZATION, `$1${REDACTED}`)
    .replace(BEARER, `$1${REDACTED}`)
    .replace(NAMED_VALUE, `$1${REDACTED}`)
    .replace(URL_PASSWORD, `$1:${REDACTED}@`);
  for (const { pattern } of credentialFormats(clean)) clean = clean.replace(pattern, REDACTED);
  return clean;
}

const FRAGMENT_KEY = /(#key=)(?!\[redacted\])[^\s"'<>&)\]]+/g;
const AUTHORIZATION = /(\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?)(?!\s{0,4}\[redacted\])[^\r\n"',}]+/gi;
const BEARER = /(\b(?:bearer|basic) )(?!\[redacted\])[\w+/=.~-]{8,}/gi;
/** Matches `?ticket=…`, `password: …`, `"sealed_key":"…"`, `x-api-key: …`. */
const NAMED_VALUE =
  /((?:password|passwd|passphrase|secret|api[_-]?key|sealed[_-]key|access[_-]token|refresh[_-]token|id[_-]token|private[_-]key|ticket|cookie)["']?\s{0,4}[:=]\s{0,4}["']?)(?!\[redacted\])[^\s"'&,;}]+/gi;

/** A kind of credential with a recognizable form. */
export interface CredentialFormat {
  readonly kind: string;
  /** Every match contains one of these strings. Looking for them first is faster than compiling the pattern. */
  readonly needs: readonly string[];
  /**
   * Pattern of the credential. It is global, begins with literal text and has bounded repeats, so that matching takes
   * linear time.
   */
  readonly pattern: RegExp;
}

const CREDENTIAL_FORMATS = (
  [
    ['private key', '-----BEGIN', /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g],
    ['AWS access key', 'AKIA ASIA ABIA ACCA', /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g],
    [
      'GitHub token',
      'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_',
      /\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{36,255})/g,
    ],
    [
      'GitLab token',
      'glpat- gldt- glrt- glptt- glft- glsoat- glcbt- glagent-',
      /\bgl(?:pat|dt|rt|ptt|ft|soat|cbt|agent)-[\w-]{20,255}/g,
    ],
    ['Slack token', 'xox xapp-', /\b(?:xox[abeoprs]-[\w-]{10,255}|xapp-\d-[\w-]{10,255})/g],
    [
      'Slack webhook',
      'hooks.slack.com/',
      /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/]{20,255}/g,
    ],
    [
      'Stripe key',
      'k_live_ k_test_ whsec_',
      /\b(?:[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,255})/g,
    ],
    ['Anthropic key', 'sk-ant-', /\bsk-ant-[a-z0-9]{2,12}-[\w-]{20,255}/g],
    ['OpenAI key', 'sk-', /\bsk-(?:(?:proj|svcacct|admin|None)-[\w-]{20,255}|[A-Za-z0-9]{32,255}\b)/g],
    ['OpenRouter key', 'sk-or-', /\bsk-or-v1-[a-f0-9]{32,255}/g],
    ['Google API key', 'AIza', /\bAIza[\w-]{35}(?![\w-])/g],
    ['Google OAuth secret', 'GOCSPX- ya29.', /\b(?:GOCSPX-[\w-]{28}|ya29\.[\w-]{30,255})/g],
    ['npm token', 'npm_', /\bnpm_[A-Za-z0-9]{36}\b/g],
    ['PyPI token', 'pypi-', /\bpypi-AgEIcHlwaS5vcmc[\w-]{50,255}/g],
    ['Hugging Face token', 'hf_', /\bhf_[A-Za-z0-9]{34,255}\b/g],
    ['SendGrid key', 'SG.', /\bSG\.[\w-]{22}\.[\w-]{43}/g],
    ['DigitalOcean token', '_v1_', /\bdo[opr]_v1_[a-f0-9]{64}/g],
    ['JSON Web Token', 'eyJ', /\beyJ[\w-]{10,4096}\.eyJ[\w-]{10,4096}\.[\w-]{10,4096}/g],
    ['ContextRelay key', 'cr_live_', /\bcr_live_[\w-]{16,255}/g],
    ['encryption key in a pointer', '#key=', /#key=[\w-]{43}(?:=|%3[dD])?/g],
  ] as const
).map(([kind, needs, pattern]): CredentialFormat => ({ kind, needs: needs.split(' '), pattern }));

/** Returns the credential formats that may occur in the text. */
export function credentialFormats(text: string): CredentialFormat[] {
  return CREDENTIAL_FORMATS.filter(({ needs }) => needs.some((part) => text.includes(part)));
}

/** Matches `scheme://user:password@host`. The password is the second group. */
export const URL_PASSWORD = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"'<>]{0,100}):([^\s/@"'<>]{3,200})@/gi;
