import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandBench } from '../command-line.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';

export default commandBench('cli-peek', 'relay peek', (relay, home) => {
  const file = join(home, 'payload.txt');
  writeFileSync(file, 'Call me later.\n'.repeat(PAYLOAD_BYTES / 15));
  return { args: ['peek', relay(['push', file]).trim()] };
});
