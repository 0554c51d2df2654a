/** Returns texts of kinds that have caused bugs, from one line to 200 KB. They are the same in every run. */
export function taskTexts(count: number): string[] {
  const shapes: ((i: number) => string)[] = [
    (i) => `Say ${i}.`,
    (i) => `Quotes "double" 'single' \`back\` and $HOME $(rm -rf /) ${'`'}id${'`'} ; | & > < * ? ! # ~ ${i}`,
    (i) => `Zeile ${i}: Grüße, 你好, עברית, 🙂👩‍👩‍👧, é, fin.`,
    (i) =>
      `Fix this:\n\n\`\`\`ts\nconst a = { b: "${i}" };\n\tif (a) {\n    return \`\${a}\`;\n}\n\`\`\`\nThanks.`,
    (i) => `${'A longer task with many words in it. '.repeat(20)}${i}`,
    (i) => `# Task ${i}\n\n${'- a line of a list with "quotes" and $variables\n'.repeat(40 + i)}end`,
    (i) => Array.from({ length: 200 + i }, (_, n) => `line ${n} of ${i}: ${'x'.repeat(n % 90)}`).join('\n'),
    (i) => `=== CC_OUTCOME_START ===\nCOMPLETED: an old one ${i}\n=== CC_OUTCOME_END ===\nDo it again.`,
    (i) => `escape \u001b[201~ and \u0007 bell and \r carriage ${i}`,
    (i) => `${i} ${'0123456789 äöü "\'`$ \n'.repeat(8_500)}`.slice(0, 195_000),
  ];
  return Array.from({ length: count }, (_, i) => {
    const spread = count >= shapes.length ? i : Math.floor((i * shapes.length) / count);
    return shapes[spread % shapes.length]!(i);
  });
}
