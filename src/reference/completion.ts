const quoteFunction = `# bash completion for opsctl
# Words that the shell would read otherwise (names with spaces and signs) are quoted.
_opsctl_quote() {
  case $1 in *[[:space:]\\'\\"\\\\\\$\\\`\\&\\;\\|\\<\\>\\(\\)\\*\\?\\!\\#]*) printf %q "$1" ;; *) printf %s "$1" ;; esac
}
`;

/** The line up to the cursor as words. */
const readWords = `  local IFS=$'\\n' line escaped='\\ ' mark=$'\\x1f' i word about quote=''
  local -a words=() found=() abouts=()
  # Bash splits at '=' and ':'; put such words together again.
  line=\${COMP_LINE:0:COMP_POINT}
  # A word in quotes that is not closed yet: what stands behind its quote is asked for as one word.
  if [[ $line =~ ^([^\\"\\']|\\"[^\\"]*\\"|\\'[^\\']*\\')*[[:space:]=,]([\\"\\'])([^\\"\\']*)$ ]]; then
    quote=\${BASH_REMATCH[2]}
    word=\${BASH_REMATCH[3]}
    line=\${line%"$quote$word"}$quote\${word// /$mark}
    line=\${line%"$quote\${word// /$mark}"}\${word// /$mark}
  fi
  # A space behind a backslash is part of its word.
  line=\${line//"$escaped"/$mark}
  read -r -d '' -a words <<<"\${line// /$'\\n'}" || true
  [[ $line == *' ' ]] && words+=('')
  words=("\${words[@]//$mark/ }")
  words=("\${words[@]//\\\\/}")
`;

/** The words that the program offers, each with what it is. */
const askProgram = `  local current=\${words[\${#words[@]}-1]} prefix='' files=none
  while IFS=$'\\t' read -r word about; do
    case $word in
      :file | :directory) files=\${word#:} ;;
      :*) ;;
      ?*) found+=("$word") abouts+=("$about") ;;
    esac
  done < <(opsctl __describe "\${words[@]:1}" 2>/dev/null)
`;

/** Offers file names, or the words that were found. */
const fillReply = `  if [[ $files != none ]]; then
    compopt -o filenames 2>/dev/null
    if [[ $files == file ]]; then COMPREPLY=($(compgen -f -- "\${current#*=}")); else COMPREPLY=($(compgen -d -- "\${current#*=}")); fi
    return
  fi
  if [[ $current == *=* && \${COMP_WORDBREAKS} == *=* ]]; then prefix=\${current%%=*}=; fi
  COMPREPLY=()
  for i in "\${!found[@]}"; do
    word=\${found[i]#"$prefix"}
    [[ -z $quote ]] && word=$(_opsctl_quote "$word")
    COMPREPLY+=("$word")
  done
`;

const describeSeveral = `  # A list of several is shown with what each one is; what is put into the line never is.
  if [[ \${#COMPREPLY[@]} -gt 1 && ( $COMP_TYPE == 63 || $COMP_TYPE == 33 || $COMP_TYPE == 64 ) ]]; then
    local width=0 columns=\${COLUMNS:-80}
    for word in "\${COMPREPLY[@]}"; do (( \${#word} > width )) && width=\${#word}; done
    for i in "\${!COMPREPLY[@]}"; do
      [[ -z \${abouts[i]} || $((columns - width - 6)) -lt 12 ]] && continue
      printf -v word '%-*s  (%s)' "$width" "\${COMPREPLY[i]}" "\${abouts[i]}"
      (( \${#word} > columns - 1 )) && word=\${word:0:columns-3}..
      COMPREPLY[i]=$word
    done
  fi
`;

/** A list that goes on gets no space behind its comma. */
const continueList = `  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *, ]]; then compopt -o nospace; fi
`;

/** Asks the program for words: it answers from a table in one bare start of Node. The program says whether file names are wanted. */
export const bashScript = (): string => `${quoteFunction}_opsctl() {
${readWords}${askProgram}${fillReply}${describeSeveral}${continueList}}
complete -F _opsctl opsctl
`;
