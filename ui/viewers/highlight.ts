import {
  createCssVariablesTheme,
  createHighlighterCore,
  type HighlighterCore,
  type LanguageInput,
} from '@shikijs/core';
import { createJavaScriptRegexEngine } from '@shikijs/engine-javascript';

/**
 * Highlighted lines. Each line consists of pieces of text with a kind, which is the CSS class of the piece.
 */
export type Highlighted = readonly (readonly { readonly text: string; readonly kind: string | null }[])[];

/** Grammars by language, loaded at first use. */
const GRAMMARS: { readonly [language: string]: () => Promise<{ default: unknown }> } = {
  typescript: () => import('@shikijs/langs/typescript'),
  python: () => import('@shikijs/langs/python'),
  shellscript: () => import('@shikijs/langs/shellscript'),
  yaml: () => import('@shikijs/langs/yaml'),
  go: () => import('@shikijs/langs/go'),
  rust: () => import('@shikijs/langs/rust'),
  sql: () => import('@shikijs/langs/sql'),
  css: () => import('@shikijs/langs/css'),
};

const VARIABLE = /^var\(--shiki-token-([a-z-]+)\)$/;

let highlighter: Promise<HighlighterCore> | undefined;

/**
 * Highlights a text. Returns null if there is no grammar for the language. Uses CSS classes for colours, because inline
 * styles would need a weaker content security policy.
 */
export async function highlight(text: string, language: string): Promise<Highlighted | null> {
  const grammar = GRAMMARS[language];
  if (!grammar) return null;
  highlighter ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ name: 'classes', variablePrefix: '--shiki-' })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const shiki = await highlighter;
  if (!shiki.getLoadedLanguages().includes(language)) {
    await shiki.loadLanguage((await grammar()).default as LanguageInput);
  }
  const { tokens } = shiki.codeToTokens(text, { lang: language, theme: 'classes' });
  return tokens.map((line) =>
    line.map(({ content, color }) => ({ text: content, kind: VARIABLE.exec(color ?? '')?.[1] ?? null })),
  );
}
