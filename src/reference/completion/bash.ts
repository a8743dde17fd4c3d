/** Asks the program for words: it answers from a table in one bare start of Node. Falls back to file names when there are none. */
export const bashScript = (): string => `# bash completion for opsctl
_opsctl() {
  local IFS=$'\\n' line escaped='\\ ' mark=$'\\x1f' i
  local -a words=()
  # Bash splits at '=' and ':'; put such words together again.
  line=\${COMP_LINE:0:COMP_POINT}
  # A space behind a backslash is part of its word.
  line=\${line//"$escaped"/$mark}
  read -r -d '' -a words <<<"\${line// /$'\\n'}" || true
  [[ $line == *' ' ]] && words+=('')
  words=("\${words[@]//$mark/ }")
  words=("\${words[@]//\\\\/}")
  local current=\${words[\${#words[@]}-1]} prefix=''
  local -a found
  found=($(opsctl __complete "\${words[@]:1}" 2>/dev/null))
  if [[ $current == *=* && \${COMP_WORDBREAKS} == *=* ]]; then prefix=\${current%%=*}=; fi
  COMPREPLY=("\${found[@]#"$prefix"}")
  # Names may hold spaces and signs that mean something to the shell.
  for i in "\${!COMPREPLY[@]}"; do
    case \${COMPREPLY[i]} in *[[:space:]\\'\\"\\\\\\$\\\`\\&\\;\\|\\<\\>\\(\\)\\*\\?\\!\\#]*) COMPREPLY[i]=$(printf %q "\${COMPREPLY[i]}") ;; esac
  done
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *, ]]; then compopt -o nospace; fi
}
complete -o default -F _opsctl opsctl
`;
