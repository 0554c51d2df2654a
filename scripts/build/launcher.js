#!/usr/bin/env node
// The published command. It stays plain enough for an old Node to read, so that an old Node can be told so.

// The commands that start from a script of their own, and what those load late that is one too; the build fills them in.
const HOT = {};
const LATE = {};

const [major, minor] = process.versions.node.split('.').map(Number);

// 22.16 is the first with full-text search in node:sqlite; 23 is no longer looked after.
if (major >= 24 || (major === 22 && minor >= 16)) {
  // Compiled code is run as it is found, so it must lie where nobody else can write: not in the shared /tmp, Node's choice.
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const home = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  const cache = home ? `${home}/contextrelay` : null;
  if (cache) process.getBuiltinModule('node:module').enableCompileCache(cache);
  // `relay peek …`, or `relay hook claude prompt-submit`.
  const [, , command, , event] = process.argv;
  const known = [`${command} ${event}`, command].find((name) => Object.hasOwn(HOT, name));
  if (known) await runScript(HOT[known], known, cache).runMain();
  else await import('./main.js');
} else {
  await import('./older-node.js');
}

/**
 * Node's own cache holds what is compiled before a module runs, which is little of it; this one holds all that the command
 * needed the last time. Once a day it takes in what was compiled since.
 */
function runScript(file, name, cache) {
  const fs = process.getBuiltinModule('node:fs');
  const vm = process.getBuiltinModule('node:vm');
  const url = new URL(file, import.meta.url);
  const kept = cache && `${cache}/${file}-${name.replace(' ', '-')}-${process.version}-${process.arch}`;
  const known = kept && readCode(fs, kept);
  const script = new vm.Script(`(function (module, __url, __import) {${fs.readFileSync(url, 'latin1')}\n})`, {
    filename: url.href,
    ...(known ? { cachedData: known.code } : {}),
  });
  const fresh = known && !script.cachedDataRejected && Date.now() - known.at < 86_400_000;
  if (kept && !fresh) process.once('exit', () => keepCode(fs, kept, script.createCachedData()));
  const module = { exports: {} };
  // What it loads late lies beside it, and beside this file.
  const load = async (other) =>
    Object.hasOwn(LATE, other) ? runScript(LATE[other], name, cache) : import(other);
  script.runInThisContext()(module, url.href, load);
  return module.exports;
}

function readCode(fs, path) {
  try {
    const bytes = fs.readFileSync(path);
    const code = bytes.subarray(0, bytes.length - 4);
    return bytes.readInt32LE(code.length) === sumOf(code) ? { code, at: fs.statSync(path).mtimeMs } : null;
  } catch {
    return null;
  }
}

/** Whole or not at all, and nothing is lost without it. */
function keepCode(fs, path, code) {
  const sum = Buffer.alloc(4);
  sum.writeInt32LE(sumOf(code));
  const draft = `${path}.${process.pid}`;
  try {
    fs.mkdirSync(path.slice(0, path.lastIndexOf('/')), { recursive: true, mode: 0o700 });
    fs.writeFileSync(draft, Buffer.concat([code, sum]), { mode: 0o600 });
    fs.renameSync(draft, path);
  } catch {
    try {
      fs.unlinkSync(draft);
    } catch {
      // It was not there.
    }
  }
}

/** Enough to notice a page that a power cut took; V8 looks at the rest. */
function sumOf(code) {
  let sum = code.length;
  for (let at = 0; at < code.length; at += 61) sum = (sum * 31 + code[at]) | 0;
  return sum;
}
