/** Describes the type of a file by its first bytes. */
export function binaryKind(bytes: Uint8Array): string {
  const ascii = (start: number, length: number) =>
    String.fromCharCode(...bytes.subarray(start, Math.min(start + length, bytes.length)));
  const hex = (length: number) =>
    Array.from(bytes.subarray(0, length), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (hex(8) === '89504e470d0a1a0a' && bytes.length >= 24) {
    return `PNG image, ${view.getUint32(16)} × ${view.getUint32(20)} pixels`;
  }
  if (/^GIF8[79]a/.test(ascii(0, 6)) && bytes.length >= 10) {
    return `GIF image, ${view.getUint16(6, true)} × ${view.getUint16(8, true)} pixels`;
  }
  if (hex(3) === 'ffd8ff') return jpegKind(view);
  if (ascii(0, 4) === 'RIFF') return RIFF[ascii(8, 4)] ?? 'RIFF file';
  if (ascii(4, 4) === 'ftyp') return FTYP[ascii(8, 4).trim()] ?? 'MP4 video';
  if (ascii(0, 4) === '%PDF') return `PDF document, version ${ascii(5, 3)}`;
  if (hex(4) === '504b0304') return zipKind(bytes);
  if (ascii(257, 5) === 'ustar') return 'tar archive';
  for (const [magic, kind] of MAGIC) if (hex(magic.length / 2) === magic) return kind;
  return 'binary data';
}

const RIFF: { readonly [kind: string]: string } = {
  WEBP: 'WebP image',
  WAVE: 'WAV audio',
  'AVI ': 'AVI video',
};
const FTYP: { readonly [brand: string]: string } = {
  heic: 'HEIC image',
  mif1: 'HEIF image',
  avif: 'AVIF image',
  M4A: 'M4A audio',
  qt: 'QuickTime video',
};

const MAGIC: readonly (readonly [hex: string, kind: string])[] = [
  ['53514c69746520666f726d6174203300', 'SQLite database'],
  ['1f8b', 'gzip data'],
  ['425a68', 'bzip2 data'],
  ['fd377a585a00', 'xz data'],
  ['28b52ffd', 'Zstandard data'],
  ['377abcaf271c', '7-Zip archive'],
  ['526172211a07', 'RAR archive'],
  ['504b0506', 'ZIP archive, empty'],
  ['7f454c46', 'ELF executable'],
  ['cffaedfe', 'Mach-O executable'],
  ['cafebabe', 'Java class or Mach-O universal binary'],
  ['4d5a', 'Windows executable'],
  ['0061736d', 'WebAssembly module'],
  ['50415231', 'Parquet data'],
  ['4152524f5731', 'Arrow data'],
  ['934e554d5059', 'NumPy array'],
  ['89484446', 'HDF5 data'],
  ['4f676753', 'Ogg audio'],
  ['664c6143', 'FLAC audio'],
  ['494433', 'MP3 audio'],
  ['fffb', 'MP3 audio'],
  ['1a45dfa3', 'Matroska or WebM video'],
  ['774f4646', 'WOFF font'],
  ['774f4632', 'WOFF2 font'],
  ['0001000000', 'TrueType font'],
  ['4f54544f', 'OpenType font'],
  ['49492a00', 'TIFF image'],
  ['4d4d002a', 'TIFF image'],
  ['00000100', 'icon'],
  ['424d', 'BMP image'],
  ['fffe', 'UTF-16 text'],
  ['feff', 'UTF-16 text'],
  ['d0cf11e0a1b11ae1', 'old Microsoft Office document'],
];

function jpegKind(view: DataView): string {
  let at = 2;
  while (at + 9 < view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return `JPEG image, ${view.getUint16(at + 7)} × ${view.getUint16(at + 5)} pixels`;
    at += 2 + view.getUint16(at + 2);
  }
  return 'JPEG image';
}

/**
 * Returns the kind of a ZIP archive. Office documents, packages and e-books are ZIP archives that contain typical
 * files.
 */
function zipKind(bytes: Uint8Array): string {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 8192));
  if (start.includes('word/')) return 'Word document';
  if (start.includes('xl/')) return 'Excel workbook';
  if (start.includes('ppt/')) return 'PowerPoint presentation';
  if (start.includes('mimetypeapplication/epub')) return 'EPUB book';
  if (start.includes('mimetypeapplication/vnd.oasis')) return 'OpenDocument file';
  if (start.includes('META-INF/')) return 'Java archive';
  return 'ZIP archive';
}
