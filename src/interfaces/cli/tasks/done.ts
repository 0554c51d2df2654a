import { settlementCommand } from './task-settlement.ts';

export default settlementCommand('done');
