import { testVolume } from './volume.ts';

// This test uses small sizes. volume.full.test.ts uses the large sizes.
testVolume({ versions: 600, artifacts: 300, pointers: 2_600, scrolled: 2_500, messages: 1_500 });
