# bash completion for opsctl
_opsctl() {
  local IFS=$'\n' line
  local -a words=()
  # Bash splits at '=' and ':'; put such words together again.
  line=${COMP_LINE:0:COMP_POINT}
  read -r -d '' -a words <<<"${line// /$'\n'}" || true
  [[ $line == *' ' ]] && words+=('')
  local current=${words[${#words[@]}-1]} prefix=''
  local -a found
  found=($(opsctl __complete "${words[@]:1}" 2>/dev/null))
  if [[ $current == *=* && ${COMP_WORDBREAKS} == *=* ]]; then prefix=${current%%=*}=; fi
  COMPREPLY=("${found[@]#"$prefix"}")
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *, ]]; then compopt -o nospace; fi
}
complete -o default -F _opsctl opsctl
