import { globSync, readFileSync } from 'node:fs';
import { runMatrix } from './matrix.ts';

/** Everything that starts a relay on the engine under test. */
const files = globSync('test/**/*.test.ts')
  .filter((path) => !/\.(slow|full)\.test\.ts$|^test\/(pins|browser|nats)\//.test(path))
  .filter((path) =>
    /(relay-under-test|channels\/core|\/server|open-threads|guarded-relay)\.ts'/.test(
      readFileSync(path, 'utf8'),
    ),
  );

await runMatrix(files.sort());
