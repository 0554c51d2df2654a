/** A number of tokens, and the tokenizer that counted it. `estimated` is true if the number is not exact. */
export interface TokenCount {
  readonly tokens: number;
  readonly tokenizer: string;
  readonly estimated: boolean;
}

export interface TokenCounter {
  count(text: string): Promise<TokenCount>;
}
