# fish completion for opsctl
function __opsctl_complete
    # The current word without its quotes and backslashes. An open quote is closed first.
    set -l word (commandline -ct)
    set -l plain (string unescape -- $word; or string unescape -- $word'"'; or string unescape -- $word"'"; or printf '%s\n' $word)
    set -l words (commandline -opc) "$plain"
    set -l found (opsctl __describe $words[2..-1] 2>/dev/null)
    switch "$found[-1]"
        case ':file'
            __fish_complete_path (commandline -ct)
        case ':directory'
            __fish_complete_directories (commandline -ct)
        case '*'
            test (count $found) -gt 1; and printf '%s\n' $found[1..-2]
    end
end
complete -c opsctl -f -a '(__opsctl_complete)'
