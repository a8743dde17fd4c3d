export const zshScript = (): string => `#compdef opsctl
# zsh completion for opsctl
_opsctl() {
  local -a found
  found=("\${(@f)$(opsctl __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  found=(\${found:#})
  if (( \${#found} )); then compadd -- "\${(@)found}"; else _files; fi
}
if [[ \${funcstack[1]} == _opsctl ]]; then _opsctl "$@"; else compdef _opsctl opsctl; fi
`;
