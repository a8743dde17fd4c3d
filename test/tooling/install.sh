#!/bin/sh
# Installs opsctl @VERSION@ for one user or one machine. It downloads the package, compares its SHA-256 with the value in this
# file, and changes nothing if they differ. Usage: sh install.sh [--prefix DIRECTORY] [--from DIRECTORY|URL] [--uninstall]
set -eu

version='@VERSION@'
file='@FILE@'
sum='@SHA256@'
from='@URL@'
prefix=${OPSCTL_PREFIX:-${HOME:-}/.local}
action=install

fail() {
  printf 'error: %s\n' "$1" >&2
  if [ -n "${2:-}" ]; then printf '  try: %s\n' "$2" >&2; fi
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --prefix | --from)
      [ $# -gt 1 ] || fail "$1 requires a value"
      if [ "$1" = --prefix ]; then prefix=$2; else from=$2; fi
      shift
      ;;
    --uninstall) action=uninstall ;;
    -h | --help)
      sed -n '2,3s/^# //p' "$0"
      exit 0
      ;;
    *) fail "unknown argument: $1" 'sh install.sh --help' ;;
  esac
  shift
done
case $prefix in
  /?*) ;;
  *) fail "invalid --prefix \"$prefix\": must be an absolute path other than /" 'sh install.sh --prefix /usr/local' ;;
esac

home=$prefix/lib/opsctl
links="bin/opsctl share/bash-completion/completions/opsctl share/fish/vendor_completions.d/opsctl.fish share/zsh/site-functions/_opsctl"

remove_links() {
  for link in $links; do
    if [ -L "$prefix/$link" ]; then rm -f "$prefix/$link"; fi
  done
  for page in "$prefix"/share/man/man1/opsctl*.1; do
    if [ -L "$page" ]; then rm -f "$page"; fi
  done
}

if [ "$action" = uninstall ]; then
  [ -f "$home/bin/opsctl.js" ] || fail "opsctl is not installed below $prefix" 'sh install.sh --uninstall --prefix DIRECTORY'
  remove_links
  rm -rf "$home"
  echo "Removed opsctl from $prefix"
  exit 0
fi

if [ -e "$home" ] && [ ! -f "$home/bin/opsctl.js" ]; then
  fail "$home exists and does not contain opsctl; no changes were made" 'sh install.sh --prefix DIRECTORY'
fi
if [ -e "$prefix/bin/opsctl" ] && [ ! -L "$prefix/bin/opsctl" ]; then
  fail "$prefix/bin/opsctl exists and is not a link of this script; no changes were made" 'sh install.sh --prefix DIRECTORY'
fi
command -v node >/dev/null 2>&1 || fail 'Node not found; opsctl requires Node 20.19 or newer' 'install Node, or use the single executable of the release'
node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' ||
  fail "Node $(node --version) is too old; opsctl requires Node 20.19 or newer" 'install a newer Node, or use the single executable of the release'

umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

case $from in
  https://* | http://127.0.0.1[:/]* | http://localhost[:/]* | file:///*)
    if command -v curl >/dev/null 2>&1; then
      curl -fsSL --retry 3 -o "$work/$file" "${from%/}/$file" || fail "cannot download ${from%/}/$file"
    elif command -v wget >/dev/null 2>&1; then
      wget -q -O "$work/$file" "${from%/}/$file" || fail "cannot download ${from%/}/$file"
    else
      fail 'neither curl nor wget found' "download $file, then: sh install.sh --from DIRECTORY"
    fi
    ;;
  *://*) fail "invalid --from $from: must be an https URL or a directory" ;;
  *) cp "$from/$file" "$work/$file" 2>/dev/null || fail "cannot read $from/$file" 'sh install.sh --from DIRECTORY' ;;
esac

if command -v sha256sum >/dev/null 2>&1; then
  found=$(sha256sum "$work/$file")
elif command -v shasum >/dev/null 2>&1; then
  found=$(shasum -a 256 "$work/$file")
else
  found=$(node -e 'const h = require("node:crypto").createHash("sha256"); process.stdout.write(h.update(require("node:fs").readFileSync(process.argv[1])).digest("hex"))' "$work/$file")
fi
found=${found%% *}
[ "$found" = "$sum" ] || fail "checksum mismatch of $file: expected $sum, got $found; no changes were made" 'download it again, and compare with SHA256SUMS of the release'

tar -xzf "$work/$file" -C "$work"
mkdir -p "$prefix/lib" "$prefix/bin" "$prefix/share/man/man1"
# The new directory is complete before it gets its name: a program that starts in the meantime finds the old or the new one.
new=$home.new.$$
rm -rf "$new"
cp -R "$work/package" "$new"
chmod 755 "$new/bin/opsctl.js"
remove_links
if [ -d "$home" ]; then
  rm -rf "$home.old.$$"
  mv "$home" "$home.old.$$"
fi
mv "$new" "$home"
rm -rf "$home.old.$$"

link() {
  mkdir -p "$(dirname "$prefix/$2")"
  ln -sf "$home/$1" "$prefix/$2"
}
link bin/opsctl.js bin/opsctl
link completions/opsctl.bash share/bash-completion/completions/opsctl
link completions/opsctl.fish share/fish/vendor_completions.d/opsctl.fish
link completions/_opsctl share/zsh/site-functions/_opsctl
for page in "$home"/dist/man/*.1; do
  link "dist/man/${page##*/}" "share/man/man1/${page##*/}"
done

installed=$("$prefix/bin/opsctl" --version) || fail "opsctl does not start: $prefix/bin/opsctl --version"
[ "$installed" = "$version" ] || fail "expected opsctl $version, got $installed"
echo "Installed opsctl $version into $prefix"
case :${PATH:-}: in
  *":$prefix/bin:"*) ;;
  *) echo "Add $prefix/bin to PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
