import { type Launcher, shellLine } from './launcher.ts';

/** Text near the start of each file that relay writes. Later runs recognize the file by this text. */
export const MARK = 'Written by "relay install';

/**
 * Returns the script for CLAUDE_CODE_SHELL_PREFIX. Claude Code runs every shell line as `SCRIPT 'LINE'`:
 * commands of its Bash tool, hooks and MCP servers. Permission rules see the original line. Claude Code shows
 * the file to which a command writes its output. After the command, the script replaces a long output in this
 * file by an excerpt. If relay is missing, fails or is slow, the file stays as it is.
 */
export function claudePrefix(launcher: Launcher, seconds = 20): string {
  return `#!/bin/sh
# ${MARK} claude --tee". "relay install claude --no-tee" deletes this file.
# Claude Code runs each shell line as: this script 'LINE'.
case $1 in
  *shell-snapshots/snapshot-zsh-*'pwd -P >|'*) shell=zsh ;;
  *shell-snapshots/snapshot-*'pwd -P >|'*) shell=bash ;;
  *) exec /bin/sh -c "$1" ;; # a hook or an MCP server
esac
case $SHELL in */"$shell") shell=$SHELL ;; esac
"$shell" -c "$1"
code=$?

# The output is a file of Claude Code that holds only the output of this command.
file=$(readlink "/proc/$$/fd/1" 2>/dev/null || lsof -a -p $$ -d 1 -Fn 2>/dev/null | sed -n 's/^n//p')
case $file in */tasks/*.output) ;; *) exit $code ;; esac
[ -f "$file" ] && [ "$(wc -c <"$file")" -gt 1200 ] || exit $code
short=$(mktemp) || exit $code
line=\${1#*"&& eval '"}
line=\${line%"' <"*}
unset BUN_BE_BUN
exec 2>/dev/null
${shellLine(launcher, [])} tee --name "$line" --exit $code <"$file" >"$short" &
job=$!
(sleep ${seconds}; kill $job) </dev/null >/dev/null 2>&1 &
timer=$!
wait $job && [ -s "$short" ] && cat "$short" >"$file"
kill $timer
rm -f "$short"
exit $code
`;
}
