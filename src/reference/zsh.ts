export const zshScript = (): string => `#compdef opsctl
# zsh completion for opsctl
_opsctl() {
  local -a answer items
  local line word about files
  answer=("\${(@f)$(opsctl __describe "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${(@)answer}"; do
    word=\${line%%$'\\t'*}
    about=\${line#*$'\\t'}
    case $line in
      :*) files=\${line#:} ;;
      ?*)
        if [[ -n $about && $line == *$'\\t'* ]]; then items+=("\${word//:/\\\\:}:$about"); else items+=("\${word//:/\\\\:}"); fi
        ;;
    esac
  done
  case $files in
    file) _files ;;
    directory) _files -/ ;;
    *) (( \${#items} )) && _describe -V opsctl items ;;
  esac
}
if [[ \${funcstack[1]} == _opsctl ]]; then _opsctl "$@"; else compdef _opsctl opsctl; fi
`;
