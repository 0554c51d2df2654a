/**
 * Whether a line of source code defines something, in the common languages. Good enough to find one's way; a parser for
 * each language would be a dependency for each. Lines are short by then, so no pattern can take long.
 */
export function isDefinition(line: string): boolean {
  if (!HAS_WORD.test(line) && !/[{(]\s*$/.test(line)) return false;
  return DEFINITIONS.some((pattern) => pattern.test(line));
}

const HAS_WORD =
  /\b(?:function|class|interface|enum|namespace|type|const|let|var|def|module|func|fn|struct|trait|impl|mod|macro_rules|union|fun|object|protocol|extension|record|public|private|protected|internal|typedef|define|extern|static|inline|create)\b|\(\)/i;

/** Nested deeper than a method of a class is a detail. */
const INDENT = '^(?: {0,8}|\\t{0,2})';

const DEFINITIONS = [
  // JavaScript, TypeScript, PHP
  'INDENT(?:export +)?(?:default +)?(?:declare +)?(?:abstract +)?(?:async +)?function *\\*? *[\\w$]* *[(<]',
  'INDENT(?:export +)?(?:default +)?(?:declare +)?(?:(?:abstract|final|sealed|data|open|public|private|partial|static) +)*(?:class|interface|enum|object|record|protocol|extension|namespace|module) +[A-Za-z_$][\\w$.:]* *(?:[({:<,]|extends\\b|implements\\b|where\\b|$)',
  '^(?:export +)?(?:declare +)?type +[\\w$]+(?: *<[^=]*>)? *=',
  '^export +(?:const|let|var) +[\\w$]+',
  '^(?:const|let|var) +[\\w$]+ *(?::[^=]*)?= *(?:async *)?(?:function\\b|(?:\\([^)]*\\)|[\\w$]+) *(?::[^=]*)?=>)',
  // Python, Ruby
  'INDENT(?:async +)?def +[\\w.]+[?!=]? *(?:\\(|:|$)',
  // Go
  '^func +(?:\\([^)]*\\) *)?\\w+ *[(\\[]',
  '^type +\\w+(?:\\[[^\\]]*\\])? +(?:struct|interface|func|map|\\[|\\*|[A-Za-z])[^.]*$',
  // Rust, Swift, Kotlin
  'INDENT(?:pub(?:\\([^)]*\\))? +)?(?:(?:const|unsafe|async|static|override|private|public|internal|open|suspend|inline|mutating) +)*(?:fn|func|fun) +(?:<[^>]*> *)?[\\w.`]+ *[(<]',
  "INDENT(?:pub(?:\\([^)]*\\))? +)?(?:unsafe +)?(?:struct|enum|trait|union|mod|impl)\\b(?: *<[^>]*>)? +[A-Za-z_][\\w:<>', &]*(?:[{(;]| for |$)",
  '^macro_rules! +\\w+',
  // Java, C#
  'INDENT(?:public|private|protected|internal|static|final|abstract|override|virtual|async|synchronized|native) [\\w<>\\[\\],.? ]+[({]',
  // C, C++
  '^(?:typedef +)?(?:struct|union|enum)(?: +\\w+)? *\\{?$',
  '^# *define +\\w+\\(',
  '^(?:extern|static|inline) [^;={]*\\(',
  // A head with a body behind it, whatever the language: a C function, a method, a test
  'INDENT(?![^(]*\\b(?:if|for|while|switch|else|catch|return|do|with|await|throw|new|case)\\b)[A-Za-z_$*~#][\\w$ *&:<>,~.\\[\\]#]*\\([^;{}]*\\)[^;{}()]*\\{$',
  // Shell
  '^(?:function +)?[\\w-]+ *\\(\\) *\\{?$',
  // SQL
  '^create +(?:or +replace +)?(?:temp(?:orary)? +|unique +|materialized +)*(?:table|view|index|function|procedure|trigger|type|schema)\\b',
].map((source) => new RegExp(source.replace('INDENT', INDENT), source.startsWith('^create') ? 'i' : ''));
