#!/usr/bin/env node
// The published command. It stays plain enough for an old Node to read, so that an old Node can be told so.

// What agents call all day starts from one file, which the build makes; every further file would cost a millisecond.
const HOT = {
  peek: 'store.js',
  pull: 'store.js',
  push: 'store.js',
  rm: 'store.js',
  'artifact put': 'store.js',
  'artifact get': 'store.js',
  'state header': 'store.js',
  'state patch': 'store.js',
  'hook prompt-submit': 'store.js',
  'hook session-start': 'hook.js',
  hook: 'hook.js',
  mcp: 'mcp.js',
};

const DAY_MS = 86_400_000;

const [major, minor] = process.versions.node.split('.').map(Number);

// 22.16 is the first with full-text search in node:sqlite; 23 is no longer looked after.
const whole = major >= 24 || (major === 22 && minor >= 16);
if (whole || !(await (await import('./older-node.js')).handedOver())) {
  // Compiled code is run as it is found, so it must lie where nobody else can write: not in the shared /tmp, Node's choice.
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const home = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  const { enableCompileCache } = process.getBuiltinModule('node:module');
  // No folder where it cannot be made, or where Node was told to keep nothing.
  const { directory } = (home && enableCompileCache?.(`${home}/contextrelay`)) || {};
  // `relay peek …`, `relay artifact put …`, or `relay hook claude prompt-submit`.
  const [, , noun, verb, event] = process.argv;
  const known = [`${noun} ${event}`, `${noun} ${verb}`, noun].find((name) => Object.hasOwn(HOT, name));
  const hot = known ? runHot(HOT[known], known, directory) : null;
  const { runMain } = hot || (await import('./main.js'));
  await runMain();
}

/**
 * Runs such a file with the code that V8 had made of it when this command last ended well. Node's own cache has what is
 * compiled before a file runs, which is too little of it, or all of it. Kept anew once a day, and once soon after the first time, with what was called since.
 */
function runHot(file, command, folder) {
  const fs = process.getBuiltinModule('node:fs');
  const vm = process.getBuiltinModule('node:vm');
  // An experiment so far: how what such a file loads late is found.
  const { USE_MAIN_CONTEXT_DEFAULT_LOADER: importModuleDynamically } = vm.constants;
  if (!importModuleDynamically) return null;
  const path = `${import.meta.dirname}/${file}`;
  const read = readingBuffer(fs);
  const source = read(path).latin1Slice();
  // The file begins with its own hash: V8 looks no further than the length of a source.
  const name = `${command.replaceAll(' ', '-')}-${source.slice(2, 34)}-${process.version}-${process.arch}`;
  const kept = folder && `${folder}/${name}`;
  const known = kept ? readTwice(fs, kept, read) : null;
  const { href } = new URL(file, import.meta.url);
  const script = new vm.Script(source, {
    filename: href,
    cachedData: known?.code,
    importModuleDynamically,
  });
  const isFirst = !known || script.cachedDataRejected;
  if (kept && (isFirst || !known.fresh)) {
    process.once('exit', (code) => code === 0 && writeTwice(fs, kept, script.createCachedData(), isFirst));
  }
  const module = { exports: {} };
  script.runInThisContext()(module, path, href);
  return module.exports;
}

/** Reads one file after the other into the same memory: to touch new memory takes longer than to read into it. */
function readingBuffer(fs) {
  let buffer = Buffer.allocUnsafeSlow(1 << 21);
  return (path) => {
    const file = fs.openSync(path, 'r');
    try {
      const { size } = fs.fstatSync(file);
      if (size > buffer.length) buffer = Buffer.allocUnsafeSlow(size);
      return buffer.subarray(0, fs.readSync(file, buffer, 0, size, 0));
    } finally {
      fs.closeSync(file);
    }
  };
}

// V8 runs what it is given, so damage must be seen before. To compare two copies is faster than to load a checksum.
function readTwice(fs, path, read) {
  try {
    const fresh = Date.now() - fs.statSync(path).mtimeMs < DAY_MS;
    const twice = read(path);
    const code = twice.subarray(0, twice.length / 2);
    return code.equals(twice.subarray(code.length)) ? { code, fresh } : null;
  } catch {
    return null;
  }
}

// The first run may have been an odd one, and what it called is all that is kept: the next but a few minutes later adds to it.
function writeTwice(fs, path, code, isFirst) {
  const draft = `${path}.${process.pid}`;
  try {
    fs.writeFileSync(draft, Buffer.concat([code, code]), { mode: 0o600 });
    const soon = (Date.now() - DAY_MS + 300_000) / 1000;
    if (isFirst) fs.utimesSync(draft, soon, soon);
    fs.renameSync(draft, path);
  } catch {
    fs.rmSync(draft, { force: true });
  }
}
