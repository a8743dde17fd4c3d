# fish completion for opsctl
function __opsctl_complete
    set -l words (commandline -opc) (commandline -ct)
    opsctl __complete $words[2..-1] 2>/dev/null
end
complete -c opsctl -a '(__opsctl_complete)'
