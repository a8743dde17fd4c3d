const quoteFunction = `# bash completion for opsctl
# Words that the shell would read otherwise (names with spaces and signs) are quoted.
_opsctl_quote() {
  case $1 in *[[:space:]\\'\\"\\\\\\$\\\`\\&\\;\\|\\<\\>\\(\\)\\*\\?\\!\\#\\{\\}\\[\\]\\~\\^]*) printf %q "$1" ;; *) printf %s "$1" ;; esac
}
# A name behind an open quote keeps its signs: none of them runs a command or ends the quote.
_opsctl_in_quotes() {
  local left=$2 each
  while [[ -n $left ]]; do
    each=\${left:0:1} left=\${left:1}
    case $1$each in
      "''") printf %s "'\\\\''" ;;
      '"!') printf %s "\\"'!'\\"" ;;
      '""' | '"\\' | '"$' | '"\`') printf '\\\\%s' "$each" ;;
      *) printf %s "$each" ;;
    esac
  done
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
    if [[ -z $quote ]]; then word=$(_opsctl_quote "$word"); else word=$(_opsctl_in_quotes "$quote" "$word"); fi
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
/** An unfinished list gets no space after its comma. */
const continueList = `  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *, ]]; then compopt -o nospace; fi
`;
/**
 * Requests completions from the program, which reads a table in one bare start of Node. The program also
 * reports whether file names are allowed.
 */
export const bashScript = (): string => `${quoteFunction}_opsctl() {
${readWords}${askProgram}${fillReply}${describeSeveral}${continueList}}
complete -F _opsctl opsctl
`;

export const fishScript = (): string => `# fish completion for opsctl
function __opsctl_complete
    # The current word without its quotes and backslashes. An open quote is closed first.
    set -l word (commandline -ct)
    set -l plain (string unescape -- $word; or string unescape -- $word'"'; or string unescape -- $word"'"; or printf '%s\\n' $word)
    set -l words (commandline -opc) "$plain"
    set -l found (opsctl __describe $words[2..-1] 2>/dev/null)
    switch "$found[-1]"
        case ':file'
            __fish_complete_path (commandline -ct)
        case ':directory'
            __fish_complete_directories (commandline -ct)
        case '*'
            test (count $found) -gt 1; and printf '%s\\n' $found[1..-2]
    end
end
complete -c opsctl -f -a '(__opsctl_complete)'
`;

export const powershellScript = (): string => `# PowerShell completion for opsctl
Register-ArgumentCompleter -Native -CommandName opsctl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object {
      if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
    })
  if ($wordToComplete -eq '') { $words += '""' }
  $found = @(& opsctl __describe @words 2>$null)
  if ($found.Count -gt 0 -and $found[-1] -match '^:(file|directory)$') { return }
  foreach ($line in $found) {
    if ($line.StartsWith(':')) { continue }
    $word, $about = $line -split "\`t", 2
    if ([string]::IsNullOrEmpty($about)) { $about = $word }
    $text = if ($word -match '^[A-Za-z0-9_./:=+-]+$') { $word }
      else { "'" + [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($word) + "'" }
    [System.Management.Automation.CompletionResult]::new($text, $word, 'ParameterValue', $about)
  }
}
`;

export const zshScript = (): string => `#compdef opsctl
# zsh completion for opsctl
_opsctl() {
  local -a answer items
  local line word about files
  answer=("\${(@f)$(opsctl __describe "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  for line in "\${(@)answer}"; do
    word=\${line%%$'\\t'*}
    about=\${line#*$'\\t'}
    # _describe ends a word at a colon and removes a backslash, unless a backslash precedes it.
    word=\${\${word//\\\\/\\\\\\\\}//:/\\\\:}
    case $line in
      :*) files=\${line#:} ;;
      ?*)
        if [[ -n $about && $line == *$'\\t'* ]]; then items+=("$word:$about"); else items+=("$word"); fi
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
