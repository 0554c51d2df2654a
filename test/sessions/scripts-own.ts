import type { SessionScript } from './script.ts';

/** Half of the recorded sessions. The author of the extractor wrote them; see scripts-plain.ts for the other half. */
export const OWN_SCRIPTS: readonly SessionScript[] = [
  {
    name: 'parser-limit',
    client: 'claude',
    files: {
      'parser.js': 'exports.parse = (text) => JSON.parse(text);\n',
      'test.js':
        "const { parse } = require('./parser.js');\nlet deep = '[]';\nfor (let i = 0; i < 2000; i++) deep = '[' + deep + ']';\ntry { parse(deep); console.error('AssertionError: depth 2001 was accepted'); process.exit(1); } catch (e) { console.log('ok: ' + e.message); }\n",
    },
    exchanges: [
      {
        prompt:
          'Limit the nesting depth of parse to 512 levels. The error message must contain the depth. Do not change the exports.',
        steps: [
          { say: 'I read the parser first.', read: 'parser.js' },
          { run: 'node test.js' },
          {
            say: 'A reviver cannot see the depth, so that approach failed.',
            run: "node -e \"JSON.parse('[[1]]', function (k, v, depth) { if (depth === undefined) throw new Error('reviver has no depth'); })\"",
          },
          {
            say: 'I decided to count brackets before parsing.',
            write: 'parser.js',
            text: "exports.parse = (text) => {\n  let depth = 0;\n  for (const c of text) {\n    if (c === '[' || c === '{') depth++;\n    if (c === ']' || c === '}') depth--;\n    if (depth > 512) throw new Error('too deep: ' + depth);\n  }\n  return JSON.parse(text);\n};\n",
          },
          { run: 'node test.js' },
        ],
        answer:
          'parse rejects more than 512 levels. Brackets inside strings are counted too, which is wrong for texts such as "[[[".',
      },
      {
        prompt:
          'Brackets in strings must not count. Use a small state machine, no regular expressions: they were too slow last time.',
        steps: [
          { edit: 'parser.js', old: '  let depth = 0;\n', new: '  let depth = 0;\n  let quoted = false;\n' },
          {
            edit: 'parser.js',
            old: "    if (c === '[' ",
            new: "    if (c === '\"') quoted = !quoted;\n    if (quoted) continue;\n    if (c === '[' ",
          },
          { run: 'node test.js' },
        ],
        answer: 'Strings are skipped now. Escaped quotes are still not handled: that is the next step.',
      },
    ],
    questions: [
      ['What is the limit?', '512 levels'],
      ['What must the error message contain?', 'error message must contain the depth'],
      ['What must not change?', 'Do not change the exports'],
      ['Which approach failed?', 'reviver cannot see the depth'],
      ['With which error did it fail?', 'reviver has no depth'],
      ['How is the depth found?', 'count brackets before parsing'],
      ['What must not count?', 'Brackets in strings must not count'],
      ['Why no regular expressions?', 'too slow last time'],
      ['Did the tests pass at the end?', 'node test.js', 'exit 0'],
      ['What is the next step?', 'Escaped quotes are still not handled'],
    ],
  },
  {
    name: 'port-clash',
    client: 'claude',
    files: {
      'server.js': 'exports.port = 8080;\n',
      'smoke.sh':
        'node -e "process.exit(require(\'./server.js\').port === 8080 ? (console.error(\'Error: listen EADDRINUSE 127.0.0.1:8080\'), 1) : 0)" && echo "smoke passed"\n',
    },
    exchanges: [
      {
        prompt:
          'The smoke test fails on the build machine. Find out why and fix it. The port must come from the environment variable APP_PORT.',
        steps: [
          { run: 'sh smoke.sh' },
          { say: 'Port 8080 is taken by the proxy on the build machine.', run: 'lsof-not-here -i :8080' },
          { write: 'server.js', text: 'exports.port = Number(process.env.APP_PORT ?? 9090);\n' },
          { run: 'sh smoke.sh' },
        ],
        answer: 'The port comes from APP_PORT, with 9090 as the default. The smoke test passes.',
      },
      {
        prompt: 'Default 9191 please, 9090 is Prometheus. And add it to the README.',
        steps: [{ edit: 'server.js', old: '9090', new: '9191' }, { run: 'sh smoke.sh' }],
        answer:
          'The default is 9191. The README is not written yet, because there is none in this repository.',
      },
      {
        prompt: 'Then create README.md, two lines are enough. Mention only APP_PORT.',
        steps: [{ write: 'README.md', text: '# Server\nSet APP_PORT to choose the port.\n' }],
        answer: 'README.md is there. I have not committed anything.',
      },
    ],
    questions: [
      ['Where did the smoke test fail?', 'build machine'],
      ['What was the error?', 'taken by the proxy'],
      ['Which variable holds the port?', 'APP_PORT'],
      ['Which tool was missing?', 'lsof-not-here'],
      ['Which default is wanted?', '9191'],
      ['Why not 9090?', '9090 is Prometheus'],
      ['Does the smoke test pass?', 'smoke passed'],
      ['How long should the README be?', 'two lines are enough'],
      ['What may the README mention?', 'Mention only APP_PORT'],
      ['Is anything committed?', 'not committed anything'],
    ],
  },
  {
    name: 'date-bug',
    client: 'codex',
    files: {
      'dates.py':
        "from datetime import datetime\n\ndef week(text):\n    return datetime.strptime(text, '%d.%m.%Y').isocalendar()[1]\n",
      'test_dates.py':
        "from dates import week\nassert week('31.12.2024') == 1, 'week of 31.12.2024'\ntry:\n    week('2024-12-31')\nexcept ValueError as e:\n    raise SystemExit('FAILED: ' + str(e))\nprint('2 passed')\n",
    },
    exchanges: [
      {
        prompt:
          'week() must also accept ISO dates such as 2024-12-31. Support Python 3.6, so fromisoformat is out.',
        steps: [
          { read: 'dates.py' },
          { run: 'python3 test_dates.py' },
          { say: 'dateutil would parse both.', run: "python3 -c 'import dateutil_not_here'" },
          {
            say: 'dateutil is not installed, and I do not add dependencies. I try both formats in order.',
            edit: 'dates.py',
            old: "    return datetime.strptime(text, '%d.%m.%Y').isocalendar()[1]",
            new: "    for pattern in ('%d.%m.%Y', '%Y-%m-%d'):\n        try:\n            return datetime.strptime(text, pattern).isocalendar()[1]\n        except ValueError:\n            pass\n    raise ValueError('no date: ' + text)",
          },
          { run: 'python3 test_dates.py' },
        ],
        answer: 'Both formats work; the German one is tried first. All 2 tests pass.',
      },
      {
        prompt: 'Wrong order: ISO first, most of our data is ISO. Also raise TypeError for None.',
        steps: [
          { edit: 'dates.py', old: "('%d.%m.%Y', '%Y-%m-%d')", new: "('%Y-%m-%d', '%d.%m.%Y')" },
          { run: 'python3 test_dates.py' },
        ],
        answer: 'ISO comes first now. The TypeError for None is still open.',
      },
    ],
    questions: [
      ['What must week accept?', 'must also accept ISO dates'],
      ['Which Python must be supported?', 'Python 3.6'],
      ['Which function is out?', 'fromisoformat is out'],
      ['Which package was tried?', 'dateutil'],
      ['Why was it not used?', 'do not add dependencies'],
      ['Which format comes first now?', 'ISO comes first now'],
      ['Why?', 'most of our data is ISO'],
      ['How did the tests end?', '2 passed'],
      ['Which file was changed?', 'dates.py'],
      ['What is still open?', 'TypeError for None is still open'],
    ],
  },
  {
    name: 'image-size',
    client: 'gemini',
    files: {
      Dockerfile: 'FROM node:26\nCOPY . /app\n',
      'size.sh':
        'grep -q slim Dockerfile && { echo "image 212 MB"; exit 0; }\ngrep -q alpine Dockerfile && { echo "Error: GLIBC_2.34 not found (required by sharp.node)"; exit 1; }\necho "image 1104 MB, limit 300 MB"; exit 1\n',
    },
    exchanges: [
      {
        prompt:
          'The image is too large. It must stay below 300 MB. We need sharp, and the image must run as user 1000.',
        steps: [
          { run: 'sh size.sh' },
          {
            todos: [
              { text: 'choose a base image', status: 'in_progress' },
              { text: 'run as user 1000', status: 'pending' },
              { text: 'document the base image', status: 'pending' },
            ],
          },
          { say: 'I try alpine first.', edit: 'Dockerfile', old: 'node:26', new: 'node:26-alpine' },
          { run: 'sh size.sh' },
          {
            say: 'alpine has no glibc, so sharp does not load there. I take the slim image.',
            edit: 'Dockerfile',
            old: 'node:26-alpine',
            new: 'node:26-slim',
          },
          { run: 'sh size.sh' },
        ],
        answer: 'The slim image has 212 MB and sharp loads.',
      },
      {
        prompt:
          'Good. We decided to pin it: node:26.1-slim. Do the user next, but leave the documentation to Tomas.',
        steps: [
          { edit: 'Dockerfile', old: 'node:26-slim', new: 'node:26.1-slim\nUSER 1000' },
          { run: 'sh size.sh' },
          {
            todos: [
              { text: 'choose a base image', status: 'completed' },
              { text: 'run as user 1000', status: 'completed' },
              { text: 'document the base image', status: 'pending' },
            ],
          },
        ],
        answer: 'Pinned and running as 1000. I did not check that /app is writable for that user.',
      },
    ],
    questions: [
      ['What is the size limit?', 'below 300 MB'],
      ['Which user must run it?', 'user 1000'],
      ['Which base image failed?', 'alpine'],
      ['Why did it fail?', 'no glibc'],
      ['How large is the image now?', '212 MB'],
      ['Which image is pinned?', 'node:26.1-slim'],
      ['Who writes the documentation?', 'leave the documentation to Tomas'],
      ['What did nobody check?', '/app is writable'],
      ['Which todo is open?', 'document the base image'],
      ['Which library is needed?', 'We need sharp'],
    ],
  },
  {
    name: 'cache-key',
    client: 'gemini',
    files: {
      'cache.js': 'exports.key = (user, path) => path;\n',
      'test.js':
        "const { key } = require('./cache.js');\nif (key('a', '/x') === key('b', '/x')) { console.error('FAIL users share a key'); process.exit(1); }\nif (key('a', '/x').length > 40) { console.error('FAIL key has ' + key('a', '/x').length + ' characters'); process.exit(2); }\nconsole.log('PASS 2');\n",
    },
    exchanges: [
      {
        prompt:
          'Two users saw the same page from the cache. Include the user in the key. Keys must stay under 40 characters because of memcached-lite.',
        steps: [
          { run: 'node test.js' },
          {
            say: 'SHA-256 in hex is simple.',
            write: 'cache.js',
            text: "const { createHash } = require('crypto');\nexports.key = (user, path) => createHash('sha256').update(user + path).digest('hex');\n",
          },
          { run: 'node test.js' },
          {
            say: 'Hex needs 64 characters. base64url of 20 bytes has 27.',
            write: 'cache.js',
            text: "const { createHash } = require('crypto');\nexports.key = (user, path) => createHash('sha256').update(user + path).digest('base64url').slice(0, 27);\n",
          },
          { run: 'node test.js' },
        ],
        answer: 'Keys have 27 characters and differ by user.',
      },
      {
        prompt: "No: 'ab' + 'c' equals 'a' + 'bc'. Put a zero byte between them. And never log keys.",
        steps: [
          { edit: 'cache.js', old: 'user + path', new: "user + '\\0' + path" },
          { run: 'node test.js' },
        ],
        answer:
          'A zero byte separates the two. The old entries stay until they expire; flush the cache after the deployment.',
      },
    ],
    questions: [
      ['What went wrong?', 'Two users saw the same page'],
      ['How long may keys be?', 'under 40 characters'],
      ['Why?', 'memcached-lite'],
      ['What did hex need?', '64 characters'],
      ['How long are keys now?', '27 characters'],
      ['What separates user and path?', 'zero byte'],
      ['What must never be logged?', 'never log keys'],
      ['How did the tests end?', 'PASS 2'],
      ['What must be done after the deployment?', 'flush the cache after the deployment'],
      ['Which file was changed?', 'cache.js'],
    ],
  },
  {
    name: 'upload-name',
    client: 'opencode',
    files: {
      'upload.js': "const path = require('path');\nexports.target = (name) => path.join('uploads', name);\n",
      'test.js':
        "const { target } = require('./upload.js');\nfor (const bad of ['../etc/passwd', 'a/../../b']) if (!target(bad).startsWith('uploads/')) { console.error('not ok: ' + bad + ' leaves uploads'); process.exit(1); }\nif (target('Übersicht.pdf') !== 'uploads/Übersicht.pdf') { console.error('not ok: umlaut lost'); process.exit(1); }\nconsole.log('ok 3');\n",
    },
    exchanges: [
      {
        prompt:
          'A file name may not leave the folder uploads. Names with umlauts must be kept. Ticket SEC-214.',
        steps: [
          { read: 'upload.js' },
          { run: 'node test.js' },
          {
            todos: [
              { text: 'reject path separators', status: 'in_progress' },
              { text: 'limit the length to 255 bytes', status: 'pending' },
            ],
          },
          {
            say: 'I try a whitelist of ASCII letters.',
            edit: 'upload.js',
            old: "path.join('uploads', name)",
            new: "path.join('uploads', name.replace(/[^A-Za-z.]/g, ''))",
          },
          { run: 'node test.js' },
          {
            say: 'The whitelist drops umlauts. I use the last part of the path instead.',
            edit: 'upload.js',
            old: "name.replace(/[^A-Za-z.]/g, '')",
            new: 'path.basename(name)',
          },
          { run: 'node test.js' },
        ],
        answer: 'basename keeps umlauts and cannot leave the folder. The length limit is open.',
      },
      {
        prompt:
          'Use 200 bytes as the limit, not 255: the backup adds a suffix. And reject names that begin with a dot.',
        steps: [
          {
            edit: 'upload.js',
            old: 'exports.target = (name) => ',
            new: "exports.target = (name) => {\n  if (name.startsWith('.') && !name.includes('/')) throw new Error('hidden file');\n  return ",
          },
          { run: 'node test.js' },
          { edit: 'upload.js', old: 'path.basename(name));', new: 'path.basename(name));\n};' },
          { run: 'node test.js' },
        ],
        answer: 'Names with a dot at the start are rejected. The limit of 200 bytes is not built yet.',
      },
    ],
    questions: [
      ['What is the ticket?', 'SEC-214'],
      ['What may a name not do?', 'not leave the folder uploads'],
      ['What must be kept?', 'umlauts must be kept'],
      ['Which approach failed?', 'whitelist'],
      ['Why?', 'drops umlauts'],
      ['What is used instead?', 'basename'],
      ['Which limit is wanted?', '200 bytes'],
      ['Why not 255?', 'the backup adds a suffix'],
      ['What is rejected?', 'begin with a dot'],
      ['What is not built yet?', 'limit of 200 bytes is not built yet'],
    ],
  },
];
