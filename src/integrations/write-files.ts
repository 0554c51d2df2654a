import { type ErrorCode, RelayError } from '../base/errors.ts';
import { utf8Bytes } from '../base/utf8.ts';
import type { FileSpace, FileToWrite } from '../sdk/files.ts';

/** What is larger goes by itself: several together are one request with a limit of its own. */
const TOGETHER_BYTES = 256 * 1024;

/** Writes several files, in few requests. One that was to be new and is there stays as it is; any other refusal is thrown. */
export async function writeFiles(space: FileSpace, files: readonly FileToWrite[]): Promise<void> {
  const isLarge = ({ content }: FileToWrite) =>
    (typeof content === 'string' ? utf8Bytes(content) : content.byteLength) > TOGETHER_BYTES;
  for (const { path, content, ...o } of files.filter(isLarge)) {
    try {
      await space.put(path, content, o);
    } catch (error) {
      if (!(o.ifAbsent && error instanceof RelayError && error.code === 'file_changed')) throw error;
    }
  }
  const small = files.filter((file) => !isLarge(file));
  const answers = await space.write(small);
  answers.forEach((answer, i) => {
    if (!('error' in answer) || (small[i]!.ifAbsent && answer.code === 'file_changed')) return;
    throw new RelayError(answer.code as ErrorCode, { what: answer.error, hint: answer.hint });
  });
}
