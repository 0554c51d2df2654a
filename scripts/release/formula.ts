/**
 * Returns a Homebrew formula for the archives at `url`. On a Mac the formula signs the executable during the
 * installation. The signature is valid only on that machine.
 */
export function formula(version: string, url: string, sums: ReadonlyMap<string, string>): string {
  const archive = (platform: string) => {
    const name = `contextrelay-${version}-${platform}.tar.xz`;
    const sum = sums.get(name);
    if (sum === undefined) throw new Error(`A formula needs ${name}, which was not made.`);
    return `url "${url}/${name}"\n      sha256 "${sum}"`;
  };
  return `class Contextrelay < Formula
  desc "Agents hand each other a short pointer instead of the payload"
  version "${version}"
  license "MIT"

  on_macos do
    on_arm do
      ${archive('macos-arm64')}
    end
    on_intel do
      ${archive('macos-x64')}
    end
  end
  on_linux do
    on_arm do
      ${archive('linux-arm64')}
    end
    on_intel do
      ${archive('linux-x64')}
    end
  end

  def install
    bin.install "relay"
    system "codesign", "--sign", "-", "--force", bin/"relay" if OS.mac?
  end

  service do
    run [opt_bin/"relay", "up"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/relay version")
  end
end
`;
}
