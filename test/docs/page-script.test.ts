import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MARK, pageScript, printedBy, prints } from './page-script.ts';

const page = `# A page

<!-- run: echo one > a.txt -->

\`\`\`sh
cat a.txt   # shows it
\`\`\`

<!-- not run: needs Docker -->
\`\`\`sh
docker run x
\`\`\`

\`\`\`console
$ cat a.txt
one
$ echo "id 0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11 at noon"
id 11111111-6a8f-4a63-9d5f-0e6a1c9f8a11 at …
\`\`\`

\`\`\`ts
const a = 1;
\`\`\`

\`\`\`json
{}
\`\`\`

\`\`\`ts
console.log(a);
\`\`\`
`;

test('a page becomes one script of its hidden and visible blocks, without the blocks marked as not run', () => {
  const { script, program, expected } = pageScript(page);
  assert.match(script, /echo one > a\.txt\n.*\ncat a\.txt {3}# shows it/);
  assert.ok(!script.includes('docker'));
  assert.equal(program, 'const a = 1;\n\nconsole.log(a);\n');
  assert.deepEqual(
    [...expected],
    [
      [15, 'one\n'],
      [17, 'id 11111111-6a8f-4a63-9d5f-0e6a1c9f8a11 at …\n'],
    ],
  );
});

test('a block can be the content of a file', () => {
  const { script } = pageScript('<!-- file: a.yaml -->\n```yaml\na: 1\n```\n```sh\ncat a.yaml\n```\n');
  assert.match(script, /cat > a\.yaml <<'END OF FILE'\na: 1\nEND OF FILE\n.*\ncat a\.yaml/);
});

test('a block that is not run must say why', () => {
  assert.throws(() => pageScript('<!-- not run: -  -->\n```sh\nx\n```\n'), /does not say why/);
});

test('the output of a command is compared with the page, except for ids and omitted parts', () => {
  assert.ok(
    prints('id 0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11 …', 'id 99999999-6a8f-4a63-9d5f-0e6a1c9f8a11 x y\n'),
  );
  assert.ok(!prints('one', 'two\n'));
  assert.deepEqual(
    [...printedBy(`${MARK}3\nx\ny\n${MARK}9\n`)],
    [
      [3, 'x\ny\n'],
      [9, ''],
    ],
  );
});
