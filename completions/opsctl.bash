# bash completion for opsctl
# Words that the shell would read otherwise (names with spaces and signs) are quoted.
_opsctl_quote() {
  case $1 in *[[:space:]\'\"\\\$\`\&\;\|\<\>\(\)\*\?\!\#\{\}\[\]\~\^]*) printf %q "$1" ;; *) printf %s "$1" ;; esac
}
# A name behind an open quote keeps its signs: none of them runs a command or ends the quote.
_opsctl_in_quotes() {
  local left=$2 each
  while [[ -n $left ]]; do
    each=${left:0:1} left=${left:1}
    case $1$each in
      "''") printf %s "'\\''" ;;
      '"!') printf %s "\"'!'\"" ;;
      '""' | '"\' | '"$' | '"`') printf '\\%s' "$each" ;;
      *) printf %s "$each" ;;
    esac
  done
}
_opsctl() {
  local IFS=$'\n' line escaped='\ ' mark=$'\x1f' i word about quote=''
  local -a words=() found=() abouts=()
  # Bash splits at '=' and ':'; put such words together again.
  line=${COMP_LINE:0:COMP_POINT}
  # A word in quotes that is not closed yet: what stands behind its quote is asked for as one word.
  if [[ $line =~ ^([^\"\']|\"[^\"]*\"|\'[^\']*\')*[[:space:]=,]([\"\'])([^\"\']*)$ ]]; then
    quote=${BASH_REMATCH[2]}
    word=${BASH_REMATCH[3]}
    line=${line%"$quote$word"}$quote${word// /$mark}
    line=${line%"$quote${word// /$mark}"}${word// /$mark}
  fi
  # A space behind a backslash is part of its word.
  line=${line//"$escaped"/$mark}
  read -r -d '' -a words <<<"${line// /$'\n'}" || true
  [[ $line == *' ' ]] && words+=('')
  words=("${words[@]//$mark/ }")
  words=("${words[@]//\\/}")
  local current=${words[${#words[@]}-1]} prefix='' files=none
  while IFS=$'\t' read -r word about; do
    case $word in
      :file | :directory) files=${word#:} ;;
      :*) ;;
      ?*) found+=("$word") abouts+=("$about") ;;
    esac
  done < <(opsctl __describe "${words[@]:1}" 2>/dev/null)
  if [[ $files != none ]]; then
    compopt -o filenames 2>/dev/null
    if [[ $files == file ]]; then COMPREPLY=($(compgen -f -- "${current#*=}")); else COMPREPLY=($(compgen -d -- "${current#*=}")); fi
    return
  fi
  if [[ $current == *=* && ${COMP_WORDBREAKS} == *=* ]]; then prefix=${current%%=*}=; fi
  COMPREPLY=()
  for i in "${!found[@]}"; do
    word=${found[i]#"$prefix"}
    if [[ -z $quote ]]; then word=$(_opsctl_quote "$word"); else word=$(_opsctl_in_quotes "$quote" "$word"); fi
    COMPREPLY+=("$word")
  done
  # A list of several is shown with what each one is; what is put into the line never is.
  if [[ ${#COMPREPLY[@]} -gt 1 && ( $COMP_TYPE == 63 || $COMP_TYPE == 33 || $COMP_TYPE == 64 ) ]]; then
    local width=0 columns=${COLUMNS:-80}
    for word in "${COMPREPLY[@]}"; do (( ${#word} > width )) && width=${#word}; done
    for i in "${!COMPREPLY[@]}"; do
      [[ -z ${abouts[i]} || $((columns - width - 6)) -lt 12 ]] && continue
      printf -v word '%-*s  (%s)' "$width" "${COMPREPLY[i]}" "${abouts[i]}"
      (( ${#word} > columns - 1 )) && word=${word:0:columns-3}..
      COMPREPLY[i]=$word
    done
  fi
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *, ]]; then compopt -o nospace; fi
}
complete -F _opsctl opsctl
