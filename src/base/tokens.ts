/** A figure is never shown without the tokenizer that counted it; an estimate says that it is one. */
export interface TokenCount {
  readonly tokens: number;
  readonly tokenizer: string;
  readonly estimated: boolean;
}

export interface TokenCounter {
  count(text: string): Promise<TokenCount>;
}
