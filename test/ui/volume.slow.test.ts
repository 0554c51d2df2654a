import { testVolume } from './volume.ts';

// The large sizes are in volume.full.test.ts.
testVolume({ versions: 600, artifacts: 300, pointers: 2_600, scrolled: 2_500, messages: 1_500 });
